// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

/// What is told to the person: everything but the result. It goes to standard error, where nothing can be lost that
/// a script needs, so that it cannot be written is not an error.
final class Console: Sendable {
    /// Whether a person is likely to read along.
    let isTerminal: Bool
    /// How wide a line that is replaced may be; `nil` where none can be.
    let columns: @Sendable () -> Int?
    private let write: @Sendable (String) -> Void
    private let hasProgress = Mutex(false)

    init(
        isTerminal: Bool,
        columns: @escaping @Sendable () -> Int?,
        write: @escaping @Sendable (String) -> Void
    ) {
        self.isTerminal = isTerminal
        self.columns = columns
        self.write = write
    }

    /// Standard error.
    static func standardError() -> Console {
        let isDumb = Environment.process.isDumbTerminal
        return Console(isTerminal: StandardStream.error.isTerminal) {
            isDumb ? nil : StandardStream.error.columns
        } write: {
            try? StandardStream.error.write($0)
        }
    }

    /// A line of its own.
    func line(_ text: String) {
        hasProgress.withLock { hasProgress in
            write((hasProgress ? Self.eraseLine : "") + text + "\n")
            hasProgress = false
        }
    }

    /// A line that the next one replaces; on a terminal only.
    func progress(_ text: String) {
        guard isTerminal, let columns = columns() else { return }
        hasProgress.withLock { hasProgress in
            // One that goes on in a second line could not be replaced.
            write(Self.eraseLine + text.prefix(columns - 1))
            hasProgress = true
        }
    }

    /// Says once what ``progress(_:)`` would go on saying, on a terminal where no line can be replaced.
    func notice(_ text: String) {
        if isTerminal, columns() == nil { line(text) }
    }

    /// Takes the last progress line away.
    func clearProgress() {
        hasProgress.withLock { hasProgress in
            if hasProgress { write(Self.eraseLine) }
            hasProgress = false
        }
    }

    /// Shows the seconds that pass while `work` runs.
    ///
    /// - Parameter delay: What is done by then is not worth a word.
    func showingProgress<Value: Sendable>(
        after delay: Duration = .zero,
        _ text: @escaping @Sendable (_ elapsed: Duration) -> String,
        while work: () async throws -> Value
    ) async rethrows -> Value {
        guard isTerminal else { return try await work() }
        let start = ContinuousClock.now
        let ticker = Task {
            if delay > .zero { try await Task.sleep(for: delay) }
            while !Task.isCancelled {
                progress(text(ContinuousClock.now - start))
                try await Task.sleep(for: .seconds(1))
            }
        }
        defer {
            ticker.cancel()
            clearProgress()
        }
        return try await work()
    }

    private static let eraseLine = "\r\u{1B}[K"
}

extension Duration {
    /// Minutes and seconds, `4:05`. What has begun counts as a whole second: time that is left is never none.
    var clockText: String {
        let seconds = max(0, components.seconds + (components.attoseconds > 0 ? 1 : 0))
        return "\(seconds / 60):\(seconds % 60 < 10 ? "0" : "")\(seconds % 60)"
    }
}
