// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

package import Glibc

/// The start of another program, and what it gets of this process: by default all descriptors that are not closed on exec.
@safe package struct ProcessStart: ~Copyable {
    private var actions = unsafe posix_spawn_file_actions_t()
    private var attributes = posix_spawnattr_t()
    private var flags = Int32(POSIX_SPAWN_SETSIGMASK)
    private var problem: Int32 = 0

    package init() {
        note(unsafe posix_spawn_file_actions_init(&actions))
        note(unsafe posix_spawnattr_init(&attributes))
    }

    deinit {
        var (actions, attributes) = unsafe (actions, attributes)
        unsafe posix_spawn_file_actions_destroy(&actions)
        unsafe posix_spawnattr_destroy(&attributes)
    }

    package mutating func open(_ number: Int32, _ path: String, _ mode: Int32) {
        note(unsafe posix_spawn_file_actions_addopen(&actions, number, path, mode, 0))
    }

    package mutating func duplicate(_ descriptor: Int32, to number: Int32) {
        note(unsafe posix_spawn_file_actions_adddup2(&actions, descriptor, number))
    }

    package mutating func close(_ number: Int32) {
        note(unsafe posix_spawn_file_actions_addclose(&actions, number))
    }

    /// Blocks these signals, and no others. Their effect stays: an ignored signal is ignored.
    package mutating func block(_ signals: sigset_t) {
        note(unsafe withUnsafePointer(to: signals) { unsafe posix_spawnattr_setsigmask(&attributes, $0) })
    }

    /// Gives every signal its usual effect, and blocks none.
    package mutating func resetSignals() {
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        block(signals)
        unsafe sigfillset(&signals)
        note(unsafe posix_spawnattr_setsigdefault(&attributes, &signals))
        flags |= Int32(POSIX_SPAWN_SETSIGDEF)
    }

    /// Makes the program the leader of a process group, which can be ended as a whole.
    package mutating func leadGroup() {
        flags |= Int32(POSIX_SPAWN_SETPGROUP)
    }

    /// Makes the program the leader of a session without a terminal.
    package mutating func leadSession() {
        flags |= 0x80  // POSIX_SPAWN_SETSID, which the headers hide from Swift
    }

    /// - Returns: The process, or the system's error number.
    package consuming func start(_ path: CText, _ arguments: [CText], _ variables: [CText]) -> Result<
        pid_t, ErrorNumber
    > {
        note(unsafe posix_spawnattr_setflags(&attributes, Int16(flags)))
        var process: pid_t = 0
        for attempt in 1...50 where problem == 0 {
            problem = unsafe CText.withPointers(arguments) { arguments in
                unsafe CText.withPointers(variables) { variables in
                    unsafe posix_spawn(&process, path, &actions, &attributes, arguments, variables)
                }
            }
            // The program's file is just being written, by an update for example; try again a moment later.
            guard problem == ETXTBSY, attempt < 50 else { break }
            problem = 0
            usleep(10_000)
        }
        return problem == 0 ? .success(process) : .failure(ErrorNumber(value: problem))
    }

    /// An error of the system.
    package struct ErrorNumber: Error {
        package let value: Int32
        package var text: String { unsafe String(cString: strerror(value)) }
    }

    private mutating func note(_ result: Int32) {
        if problem == 0 { problem = result }
    }
}
