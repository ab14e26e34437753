// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import SystemSupport

/// The signals and descriptors as the caller left them, which the command gets unchanged.
struct InheritedState: Sendable {
    /// The state when it was first asked for: before a command changes it.
    static let atStart = InheritedState()

    private let ignored: Set<Int32>
    private let blocked: Set<Int32>
    private let descriptors: Set<Int32>

    private static let signals = (Int32(1)..<65).filter { $0 != SIGKILL && $0 != SIGSTOP }

    private init() {
        var mask = sigset_t()
        unsafe pthread_sigmask(SIG_BLOCK, nil, &mask)
        var blocked: Set<Int32> = []
        for number in Self.signals where unsafe sigismember(&mask, number) == 1 { blocked.insert(number) }
        self.blocked = blocked
        ignored = Set(Self.signals.filter(Signals.isIgnored))
        descriptors = Set(Self.openDescriptors().filter { !Self.isClosedOnExec($0) })
    }

    /// Gives this process the signals of the start, and lets every other descriptor close when a command replaces it.
    func restore() {
        for number in Self.openDescriptors() where !descriptors.contains(number) && !Self.isClosedOnExec(number) {
            _ = fcntl(number, F_SETFD, FD_CLOEXEC)
        }
        for number in Self.signals { _ = signal(number, ignored.contains(number) ? SIG_IGN : SIG_DFL) }
        var mask = sigset_t()
        unsafe sigemptyset(&mask)
        for number in blocked { unsafe sigaddset(&mask, number) }
        unsafe pthread_sigmask(SIG_SETMASK, &mask, nil)
    }

    /// The descriptors beyond the standard three.
    static func openDescriptors() -> [Int32] {
        (SystemCall.openDescriptors ?? Array(3..<1024)).filter { $0 > 2 && fcntl($0, F_GETFD) >= 0 }
    }

    private static func isClosedOnExec(_ number: Int32) -> Bool {
        fcntl(number, F_GETFD) & FD_CLOEXEC != 0
    }
}

extension InheritedState {
    /// The words of the command line, with the program's name; none without `/proc`.
    ///
    /// Swift looks for them before the variables in memory, and finds none if a library that is loaded first sets one, as
    /// libfaketime does.
    static let arguments =
        CommandLine.arguments.isEmpty ? wordsOfTheSystem() : unsafe CText.list(CommandLine.unsafeArgv)

    static func wordsOfTheSystem() -> [CText] {
        let read = try? PlainFile.read("/proc/self/cmdline", atMost: 1 << 22) { _ in }  // as without /proc
        return (read?.bytes ?? []).split(separator: 0, omittingEmptySubsequences: false).dropLast().map { word in
            word.map(CChar.init(bitPattern:)) + [0]
        }
    }

    /// The same as text, repaired where it is no UTF-8.
    static var words: [String] {
        arguments.map { String(decoding: $0.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self) }
    }
}
