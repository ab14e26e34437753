// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Logging
import Synchronization

/// Compares the accounts of a provider with those it has told of, whenever the cache hints at a change.
///
/// It compares when it is asked for the next change and not before: who asks seldom gets what has changed altogether.
final class AccountWatch: Sendable {
    /// How often it looks without having been told to.
    struct Pace: Sendable {
        /// Where the cache gives no hints, and after a failure.
        var polling = Duration.milliseconds(1500)
        /// Where it does, since a hint may be lost.
        var sweeping = Duration.seconds(30)
    }

    private struct State {
        var told: [Account] = []
        var listing: CredentialStore.Listing?
        /// The next one last.
        var pending: [AccountChange] = []
        var isFailing = false
    }

    private let store: CredentialStore
    private let scope: String
    private let logger: Logger
    private let pace: Pace
    private let wakes: AsyncStream<Void>
    private let tasks: [Task<Void, Never>]
    private let state = Mutex(State())

    /// Listens from now on; ``begin()`` says what there is to compare with.
    init(store: CredentialStore, scope: String, logger: Logger, pace: Pace) {
        self.store = store
        self.scope = scope
        self.logger = logger
        self.pace = pace
        let (wakes, wake) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        self.wakes = wakes
        let (cache, group) = (store.cache, store.group)
        let hints = cache.changes(in: group)
        tasks = [
            Task { await Self.listen(hints, to: cache, group, polling: pace.polling, wake) },
            Task {
                while !Task.isCancelled {
                    try? await Task.sleep(for: pace.sweeping)  // a cancelled one ends the loop
                    wake.yield()
                }
            },
        ]
    }

    deinit {
        for task in tasks { task.cancel() }
    }

    /// Takes the accounts of now as known.
    func begin() async throws {
        let listing = try await store.allSnapshots()
        state.withLock { state in
            state.told = listing.accounts(inScope: scope)
            state.listing = listing
        }
    }

    /// The next change; `nil` when the task is cancelled.
    func next() async -> AccountChange? {
        while !Task.isCancelled {
            let isSettled = await compare()
            if let change = state.withLock({ $0.pending.popLast() }) { return change }
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
        guard state.withLock({ $0.pending.isEmpty }) else { return true }
        do {
            let listing = try await store.allSnapshots()
            state.withLock { state in
                state.isFailing = false
                guard state.pending.isEmpty, listing !== state.listing else { return }
                state.listing = listing
                let accounts = listing.accounts(inScope: scope)
                state.pending = AccountChange.changes(from: state.told, to: accounts).reversed()
                if !state.pending.isEmpty { state.told = accounts }
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

    /// Wakes for every hint about an account, and at times where there are none.
    private static func listen(
        _ first: AsyncStream<CacheKey>?,
        to cache: any TokenCache,
        _ group: CacheGroup,
        polling: Duration,
        _ wake: AsyncStream<Void>.Continuation
    ) async {
        var hints = first
        while !Task.isCancelled {
            if let hints {
                for await key in hints where key.kind == .account { wake.yield() }
            }
            try? await Task.sleep(for: polling)  // a cancelled one ends the loop
            hints = cache.changes(in: group)
            wake.yield()
        }
    }
}
