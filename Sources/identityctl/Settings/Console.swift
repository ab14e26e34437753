// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The messages to the person: everything except the result. They go to standard error. A failed write there is not
/// an error, because a script needs none of these messages.
final class Console: Sendable {
    /// Whether a person is likely to read along.
    let isTerminal: Bool
    /// The width of a line that can be replaced, in columns; `nil` if no line can be replaced.
    let columns: @Sendable () -> Int?
    private let write: @Sendable (String) -> Void
    private let hasProgress = Mutex(false)
    private let isShared = Mutex(false)

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
        let isDumb = Variables.process.isDumbTerminal
        return Console(isTerminal: StandardStream.error.isTerminal) {
            isDumb ? nil : StandardStream.error.columns
        } write: {
            try? StandardStream.error.write($0)
        }
    }

    /// Writes a line of its own.
    func line(_ text: String) {
        hasProgress.withLock { hasProgress in
            write((hasProgress ? Self.eraseLine : "") + text + "\n")
            hasProgress = false
        }
    }

    /// Writes a line that the next line replaces, on a terminal only.
    func progress(_ text: String) {
        guard isTerminal, !isShared.withLock({ $0 }), let columns = columns() else { return }
        hasProgress.withLock { hasProgress in
            // A text that wraps to a second line could not be replaced.
            write(Self.eraseLine + text.prefix(columns - 1))
            hasProgress = true
        }
    }

    /// Writes a text once that ``progress(_:)`` would repeat, on a terminal where no line can be replaced.
    func notice(_ text: String) {
        if isTerminal, columns() == nil { line(text) }
    }

    /// Shows no progress from now on: another program uses the terminal as well.
    func share() {
        clearProgress()
        isShared.withLock { $0 = true }
    }

    /// Erases the last progress line.
    func clearProgress() {
        hasProgress.withLock { hasProgress in
            if hasProgress { write(Self.eraseLine) }
            hasProgress = false
        }
    }

    /// Shows the seconds that pass while `work` runs.
    ///
    /// - Parameter delay: The time before the first message. Work that ends earlier shows nothing.
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
    /// Minutes and seconds, `4:05`. A part of a second counts as a whole second: remaining time never shows as zero.
    var clockText: String {
        let seconds = max(0, components.seconds + (components.attoseconds > 0 ? 1 : 0))
        return "\(seconds / 60):\(seconds % 60 < 10 ? "0" : "")\(seconds % 60)"
    }
}
