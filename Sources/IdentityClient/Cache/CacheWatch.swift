// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Logging
import Synchronization

/// How often a watch looks without having been told to.
struct CachePace: Sendable {
    /// Where the cache gives no hints, and after a failure.
    var polling = Duration.milliseconds(1500)
    /// Where it does, since a hint may be lost.
    var sweeping = Duration.seconds(30)
}

/// Compares what caches hold with what it has told of, whenever one of them hints at a change.
///
/// It compares when it is asked for the next change and not before: who asks seldom gets what has changed altogether.
final class CacheWatch<View: Sendable, Change: Sendable>: Sendable {
    /// Where changes come from.
    struct Source: Sendable {
        var cache: any TokenCache
        var group: CacheGroup
    }

    private struct State {
        var view: View?
        /// The next one last.
        var pending: [Change] = []
        /// Told after what caches know, the first one first.
        var posted: [Change] = []
        var isFailing = false

        mutating func take() -> Change? {
            pending.popLast() ?? (posted.isEmpty ? nil : posted.removeFirst())
        }
    }

    private let read: @Sendable (View?) async throws -> View
    private let changes: @Sendable (View, View) -> [Change]
    private let logger: Logger
    private let pace: CachePace
    private let wakes: AsyncStream<Void>
    private let wake: AsyncStream<Void>.Continuation
    private let tasks: [Task<Void, Never>]
    private let state = Mutex(State())

    /// What was posted and not yet asked for goes beyond this; the oldest goes first.
    private static var maximumPosted: Int { 100 }

    /// Listens from now on; ``begin()`` says what there is to compare with.
    ///
    /// - Parameters:
    ///   - kinds: Of which records a change is of interest.
    ///   - read: What there is now; is given what there was.
    ///   - changes: What leads from one to the other, in order.
    init(
        _ sources: [Source],
        kinds: Set<CacheKey.Kind>,
        pace: CachePace,
        logger: Logger,
        read: @escaping @Sendable (View?) async throws -> View,
        changes: @escaping @Sendable (View, View) -> [Change]
    ) {
        self.read = read
        self.changes = changes
        self.logger = logger
        self.pace = pace
        let (wakes, wake) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        self.wakes = wakes
        self.wake = wake
        tasks =
            sources.map { source in
                let hints = source.cache.changes(in: source.group)
                return Task { await Self.listen(hints, to: source, kinds, polling: pace.polling, wake) }
            } + [
                Task {
                    while !Task.isCancelled {
                        try? await Task.sleep(for: pace.sweeping)  // a cancelled one ends the loop
                        wake.yield()
                    }
                }
            ]
    }

    deinit {
        for task in tasks { task.cancel() }
    }

    /// Takes what there is now as known.
    func begin() async throws {
        let view = try await read(nil)
        state.withLock { $0.view = view }
    }

    /// Tells of something that no cache knows.
    func post(_ change: Change) {
        state.withLock { state in
            if state.posted.count >= Self.maximumPosted { state.posted.removeFirst() }
            state.posted.append(change)
        }
        wake.yield()
    }

    /// The next change; `nil` when the task is cancelled.
    func next() async -> Change? {
        while !Task.isCancelled {
            let isSettled = await compare()
            if let change = state.withLock({ $0.take() }) { return change }
            if isSettled {
                var iterator = wakes.makeAsyncIterator()
                guard await iterator.next() != nil else { return nil }
            } else {
                try? await Task.sleep(for: pace.polling)  // a cancelled one ends the loop
            }
        }
        return nil
    }

    /// Finds what has changed unless something is still to be told. `false` when that could not be read.
    private func compare() async -> Bool {
        let (before, isBusy) = state.withLock { ($0.view, !$0.pending.isEmpty) }
        guard !isBusy else { return true }
        do {
            let view = try await read(before)
            state.withLock { state in
                state.isFailing = false
                state.pending.insert(contentsOf: before.map { changes($0, view).reversed() } ?? [], at: 0)
                state.view = view
            }
            return true
        } catch {
            if error is CancellationError { return false }
            let isNew = state.withLock { state in
                defer { state.isFailing = true }
                return !state.isFailing
            }
            if isNew {
                let reason = (error as? AuthenticationError)?.shortDescription ?? "\(type(of: error))"
                logger.info(
                    "The token cache cannot be read to tell of changed accounts",
                    metadata: ["identity.error": "\(reason)"]
                )
            }
            return false
        }
    }

    /// Wakes for every hint of interest, and at times where there are none.
    private static func listen(
        _ first: AsyncStream<CacheKey>?,
        to source: Source,
        _ kinds: Set<CacheKey.Kind>,
        polling: Duration,
        _ wake: AsyncStream<Void>.Continuation
    ) async {
        var hints = first
        while !Task.isCancelled {
            if let hints {
                for await key in hints where kinds.contains(key.kind) { wake.yield() }
            }
            try? await Task.sleep(for: polling)  // a cancelled one ends the loop
            hints = source.cache.changes(in: source.group)
            wake.yield()
        }
    }
}
