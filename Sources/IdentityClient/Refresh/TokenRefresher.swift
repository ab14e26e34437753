// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The refreshes of one application object: their queue, their pauses, and the leases that wait for a write.
final class TokenRefresher: Sendable {
    let environment: FlowEnvironment
    let queue = RefreshQueue<RefreshKey, AcquiredToken>()
    let throttling = RefreshThrottling()
    private let leases: LeasesAwaitingWrite

    init(_ environment: FlowEnvironment) {
        self.environment = environment
        leases = LeasesAwaitingWrite(store: environment.store)
    }

    /// Redeems the refresh token, once for all processes that share it, and stores what it yields.
    func refresh(_ request: SilentRequest, _ context: RequestContext) async throws -> AcquiredToken {
        let driver = RefreshDriver(
            request,
            in: environment,
            throttling,
            context: context,
            lease: await leases.take(request.id)
        )
        let rest = await driver.run()
        if !rest.isEmpty { leases.keep(request.id, by: Task { await driver.goOn(rest) }) }
        return try await driver.result()
    }

    /// - Throws: `.signInExpired` for a while after any process was refused with the refresh token, unless the caller forces it.
    func checkIsNotRefused(_ token: CachedRefreshToken, for request: SilentRequest, _ context: RequestContext) throws {
        let now = environment.clock.unixSeconds
        guard !request.isForced, let seconds = token.refusedFor(request.refusalKey, at: now) else { return }
        throw AuthenticationError.refused(for: seconds, context)
    }

    /// Waits until refreshes that are under way have ended and what could not be written before is written.
    func finish() async throws {
        try await queue.finish()
        do {
            try await environment.store.saveUnsaved()
        } catch {
            // Other accounts' may have been written.
            await leases.finish()
            throw error
        }
        await leases.finish()
    }
}

/// The leases of refreshes whose refresh token could not be written, until it is.
final class LeasesAwaitingWrite: Sendable {
    private let store: CredentialStore
    /// Each gives the lease that is still held when it is cancelled.
    private let tasks = Mutex<[RecordID: Task<RefreshLeaseStore.Held?, Never>]>([:])

    init(store: CredentialStore) {
        self.store = store
    }

    /// What could not be written is gone with the store, and there is nothing to try any more.
    deinit {
        for task in tasks.withLock({ $0 }).values { task.cancel() }
    }

    /// Keeps a lease until `task` has given it back.
    func keep(_ id: RecordID, by task: Task<RefreshLeaseStore.Held?, Never>) {
        tasks.withLock { $0[id] = task }
    }

    /// The lease that is kept for the credentials, if there is one. The caller gives it back.
    func take(_ id: RecordID) async -> RefreshLeaseStore.Held? {
        guard let task = tasks.withLock({ $0.removeValue(forKey: id) }) else { return nil }
        task.cancel()
        return await task.value
    }

    /// Waits until the leases of what is written by now are given back.
    func finish() async {
        for (id, task) in tasks.withLock({ $0 }) where store.unsaved(id) == nil { _ = await task.value }
    }
}
