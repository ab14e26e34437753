// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Logging
import Synchronization
import SystemSupport

/// The intervals at which a watch compares without a hint.
struct CachePace: Sendable {
    /// The interval if the cache gives no hints, and after a failure.
    var polling = Duration.milliseconds(1500)
    /// The interval if the cache gives hints, because a hint may be lost.
    var sweeping = Duration.seconds(30)
}

/// A comparison of the caches' content with the last reported state, made whenever a cache hints at a change.
///
/// It compares only when the next change is requested. A reader that asks seldom gets the sum of the changes.
final class CacheWatch<View: Sendable, Change: Sendable>: Sendable {
    /// The origin of changes.
    struct Source: Sendable {
        var cache: any TokenCache
        var group: CacheGroup
    }

    private struct State {
        var view: View?
        /// The changes that were found and not yet returned, in reverse order: the next change is last.
        var pending: [Change] = []
        /// The posted changes, in order. They are returned after the changes in the caches.
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

    /// The most posted changes that wait to be requested. Beyond this number, the oldest change is dropped.
    private static var maximumPosted: Int { 100 }

    /// Starts to listen for hints. ``begin()`` reads the state to compare with.
    ///
    /// - Parameters:
    ///   - kinds: The kinds of records whose changes matter.
    ///   - read: Returns the current state; receives the previous state.
    ///   - changes: Returns the changes from the previous state to the current state, in order.
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

    /// Takes the current state as known.
    func begin() async throws {
        let view = try await read(nil)
        state.withLock { $0.view = view }
    }

    /// Adds a change that no cache contains.
    func post(_ change: Change) {
        state.withLock { state in
            if state.posted.count >= Self.maximumPosted { state.posted.removeFirst() }
            state.posted.append(change)
        }
        wake.yield()
    }

    /// Returns the next change; `nil` when the task is cancelled.
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

    /// Finds changes, unless changes already wait to be returned. Returns `false` if the current state could not be
    /// read.
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
                logger.debug(
                    "The token cache cannot be read to tell of changed accounts",
                    metadata: ["identity.error": "\(reason)"]
                )
            }
            return false
        }
    }

    /// Wakes the reader for every hint that matters, and at intervals if there are no hints.
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

/// The number of the changes under one of the ``SharedLocks``: the length of its file, which only grows. The number is
/// odd from before a change until the change is complete.
package final class ChangeCounter: Sendable {
    private let file: Descriptor

    init(_ file: consuming Descriptor) {
        self.file = file
    }

    /// The current number, read with one `fstat`. `nil` if memory cannot be trusted or added to: a change is under way,
    /// or its writer died before it ended, or other processes use another file by now.
    package var value: Int? {
        // If the file's length cannot be read, nothing is trusted.
        guard let number = try? file.namedLength(), number.isMultiple(of: 2) else { return nil }
        return number
    }

    /// Whether the file is still the file that other processes use.
    var isCurrent: Bool {
        // A file whose length cannot be read is no longer in use.
        (try? file.namedLength()) != nil
    }
}

/// The numbers of a group's counters at one time.
package struct ChangeCounts: Sendable {
    private let counts: [(counter: ChangeCounter, value: Int?)]

    init(_ counts: [(ChangeCounter, Int?)]) {
        self.counts = counts
    }

    /// Returns the counter for changes of `key`, which belongs to the group, and its number at that time.
    package func count(for key: CacheKey) throws -> (counter: ChangeCounter, value: Int?) {
        counts[try SharedLocks.stripe(of: key)]
    }

    /// Whether nothing has changed since. Costs one `fstat` for each counter.
    package var areCurrent: Bool {
        counts.allSatisfy { $0.value != nil && $0.counter.value == $0.value }
    }
}
