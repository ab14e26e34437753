// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The pauses of a process that waits while another process holds a lease. A pause ends when the cache reports a change,
/// or when it is time to look again.
///
/// A lease holder that dies reports no change, and a hint may be lost. So a process with hints also looks again, only
/// less often.
final class LeaseWait: Sendable {
    /// The reason why a pause ended.
    enum End: Sendable {
        /// The cache reported a change.
        case hint
        /// The time was up.
        case time
    }

    private let pauses = Mutex((count: 0, next: Promise<End>()))
    private let listener: Mutex<Task<Void, Never>?>
    private let begin = ContinuousClock.now

    /// Begins to listen: a change from now on ends a pause.
    ///
    /// - Parameter keys: The keys of the records to watch, all in one group.
    init(for keys: Set<CacheKey>, in cache: any TokenCache) {
        listener = Mutex(nil)
        guard let group = keys.first?.group, let hints = cache.changes(in: group) else { return }
        let task = Task { [weak self] in
            for await key in hints where keys.contains(key) { self?.ring() }
        }
        listener.withLock { $0 = task }
    }

    deinit {
        listener.withLock { $0?.cancel() }
    }

    /// Pauses. A change since the previous pause ends the pause at once.
    ///
    /// - Throws: `CancellationError`.
    func pause() async throws -> End {
        let (count, pause) = pauses.withLock { $0 }
        let hasHints = listener.withLock { $0 != nil }
        let timeout = Self.maximumPause(count, after: begin.duration(to: .now), hasHints: hasHints)
        let timer = Task {
            try await Task.sleep(for: timeout)
            pause.finish(.success(.time))
        }
        defer { timer.cancel() }
        let end = try await pause.value()
        // A change from here on ends the next pause. The caller sees earlier changes when it looks.
        pauses.withLock { $0 = (count + 1, Promise()) }
        return end
    }

    private func ring() {
        pauses.withLock { $0.next }.finish(.success(.hint))
    }

    /// Returns the length of a pause, counted from 0: 5, 10 and then 20 ms in the first two seconds, and 200 ms in the
    /// end; with hints, at least 40 ms.
    static func maximumPause(_ count: Int, after elapsed: Duration, hasHints: Bool) -> Duration {
        let growing = min(5 << min(count, 6), elapsed < .seconds(2) ? 20 : 200)
        return .milliseconds(hasHints ? max(40, growing) : growing)
    }
}
