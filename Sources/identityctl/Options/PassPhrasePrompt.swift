// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import IdentityClient
import Synchronization

/// Asks at the terminal for the pass phrases of key files, once for each file in a process, and does not show them.
final class PassPhrasePrompt: Sendable {
    private static let patience = Duration.seconds(120)

    private struct State {
        var keys: [KeyFile: PassPhraseKey] = [:]
        /// Pass phrases that came by another way than the terminal, until they are used.
        var given: [KeyFile: String] = [:]
        /// The files whose pass phrase was needed, and could not be asked for.
        var missing: Set<KeyFile> = []
        var isSilent = false
        var isProtected = false
        var remedy = "Run this in the foreground of a terminal."
    }

    private let state = Mutex(State())
    private let question = Mutex<Task<String, any Error>?>(nil)

    /// Whether a pass phrase was needed, so that there is a key.
    var hasProtectedKey: Bool { state.withLock(\.isProtected) }

    /// Returns the key in a file. The person is asked when the key is needed, if a pass phrase protects it.
    func key(in file: KeyFile) -> PassPhraseKey {
        state.withLock { state in
            if let key = state.keys[file] { return key }
            let key = PassPhraseKey(file) { [self] in try await passPhrase(of: file) }
            state.keys[file] = key
            return key
        }
    }

    private func passPhrase(of file: KeyFile) async throws -> String {
        let (given, isSilent) = state.withLock { state in
            state.isProtected = true
            return (state.given.removeValue(forKey: file), state.isSilent)
        }
        if let given { return given }
        let text = "Pass phrase of \(file)"
        do {
            guard !isSilent else { throw NoPersonToAsk(reason: "the agent is being unlocked") }
            return try await line("\(text) (it is not shown)", isShown: false)
        } catch let nobody as NoPersonToAsk {
            state.withLock { _ = $0.missing.insert(file) }
            throw unavailable(text, nobody.reason)
        }
    }

    /// Asks for a pass phrase.
    ///
    /// - Throws: `.cacheKeyUnavailable` if there is no terminal, or if the program is in its background;
    ///   `.interactionTimedOut` after two minutes, `.userCancelled` at the end of the input.
    func ask(_ text: String) async throws -> String {
        do {
            return try await line("\(text) (it is not shown)", isShown: false)
        } catch let nobody as NoPersonToAsk {
            throw unavailable(text, nobody.reason)
        }
    }

    /// Asks for a line, one question after the other.
    ///
    /// - Throws: Likewise, but `NoPersonToAsk` if there is no terminal, or if the program is in its background.
    func line(_ text: String, isShown: Bool) async throws -> String {
        let task = question.withLock { question in
            let task = Task { [before = question] in
                _ = await before?.result
                return try await Self.answer(to: text, isShown: isShown)
            }
            question = task
            return task
        }
        return try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }

    /// Ends a question that is under way, and so makes the terminal usual again. The source of a key asks in a task of its
    /// own, which ends with no caller.
    func end() async {
        guard let task = question.withLock({ $0 }) else { return }
        task.cancel()
        _ = await task.result
    }

    private static func answer(to text: String, isShown: Bool) async throws -> String {
        try Task.checkCancellation()
        let terminal = unsafe open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard terminal >= 0 else { throw NoPersonToAsk(reason: "there is no terminal") }
        defer { close(terminal) }
        // In the background the terminal belongs to the shell, and reading would stop the program.
        guard tcgetpgrp(terminal) == getpgrp() else {
            throw NoPersonToAsk(reason: "this program is in the background")
        }
        let quiet = isShown ? nil : QuietTerminal(terminal)
        // Quiet first, so that no answer to the question is shown, however fast it comes.
        let missing = isShown ? "No answer was typed" : "No pass phrase was typed"
        let lines = try await LineReader(descriptor: terminal, terminal: quiet, missing: missing)
        // What was typed before the question is no answer to it.
        if isShown { tcflush(terminal, TCIFLUSH) }
        write("\(text.printable): ", terminal)
        defer {
            quiet?.restore()
            write("\n", terminal)
        }
        return try await lines.next(until: .now + patience)
    }

    private static func write(_ text: String, _ terminal: Int32) {
        let bytes = Array(text.utf8)
        // The next read reports a terminal that is gone.
        _ = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(terminal, $0.baseAddress, $0.count) }
    }

    private func unavailable(_ text: String, _ reason: String) -> AuthenticationError {
        AuthenticationError(
            .cacheKeyUnavailable,
            """
            \(text.printable): it cannot be asked for here, because \(reason). \(state.withLock { $0.remedy }) The tokens are \
            not changed.
            """
        )
    }
}

// Pass phrases that come by the agent's socket for control.
extension PassPhrasePrompt {
    /// Sets the sentence that says what to do where no question is possible.
    func advise(_ remedy: String) {
        state.withLock { $0.remedy = remedy }
    }

    /// Returns the names of the key files whose pass phrase is missing when `work` needs the keys. Nothing is asked meanwhile.
    func missing(for work: () async -> Void) async -> [String] {
        state.withLock { $0.isSilent = true }
        await work()
        return state.withLock { state in
            state.isSilent = false
            return state.missing.map(\.description).sorted()
        }
    }

    /// Opens the named key file, whose pass phrase is missing.
    ///
    /// - Throws: `.cacheKeyUnavailable` for a wrong pass phrase; `UsageError`.
    func use(_ passPhrase: String, for name: String) async throws {
        guard let file = state.withLock({ $0.missing.first { $0.description == name } }) else {
            throw UsageError("No pass phrase of \(name.printable) is missing.")
        }
        state.withLock { $0.given[file] = passPhrase }
        defer { state.withLock { _ = $0.given.removeValue(forKey: file) } }
        do {
            _ = try await key(in: file).encryptionKey()
        } catch  where state.withLock({ $0.given[file] != nil }) {
            // An earlier question was about to end without an answer.
            _ = try await key(in: file).encryptionKey()
        }
        state.withLock { _ = $0.missing.remove(file) }
    }

    /// Forgets all keys.
    ///
    /// - Returns: Whether there were any.
    func forget() -> Bool {
        state.withLock { state in
            defer { state.keys = [:] }
            return !state.keys.isEmpty
        }
    }
}
