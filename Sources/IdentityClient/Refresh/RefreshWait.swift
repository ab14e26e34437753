// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The pauses of a process that waits while another process refreshes. A pause ends when the cache reports a change, or
/// when it is time to look again.
///
/// A lease holder that dies reports no change, and a hint may be lost. So a process with hints also looks again, only
/// less often.
final class RefreshWait: Sendable {
    /// How a pause ended.
    enum End: Sendable {
        /// The cache reported a change.
        case hint
        /// The time was up.
        case time
    }

    private let next = Mutex(Promise<End>())
    private let listener: Mutex<Task<Void, Never>?>
    private let clock = ContinuousClock()
    private let begin: ContinuousClock.Instant

    /// Begins to listen: a change from now on ends a pause.
    ///
    /// - Parameter keys: The keys of the records to watch, all in one group.
    init(for keys: Set<CacheKey>, in cache: any TokenCache) {
        begin = clock.now
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

    var hasHints: Bool { listener.withLock { $0 != nil } }

    /// Pauses for the `count`th time, counted from 0. A change since the previous pause ends the pause at once.
    ///
    /// - Throws: `CancellationError`.
    func pause(_ count: Int) async throws -> End {
        let timeout = Self.maximumPause(count, after: begin.duration(to: clock.now), hasHints: hasHints)
        let pause = next.withLock { $0 }
        let timer = Task {
            try await Task.sleep(for: timeout)
            pause.finish(.success(.time))
        }
        defer { timer.cancel() }
        let end = try await pause.value()
        // A change from here on ends the next pause. The caller sees earlier changes when it looks.
        next.withLock { $0 = Promise() }
        return end
    }

    private func ring() {
        next.withLock { $0 }.finish(.success(.hint))
    }

    /// Returns 5, 10 and then 20 ms in the first two seconds, and 200 ms in the end; with hints, at least 40 ms.
    static func maximumPause(_ count: Int, after elapsed: Duration, hasHints: Bool) -> Duration {
        let growing = min(5 << min(count, 6), elapsed < .seconds(2) ? 20 : 200)
        return .milliseconds(hasHints ? max(40, growing) : growing)
    }
}
