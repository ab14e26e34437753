// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The refreshes of one application object: their queue, their pauses, and the leases kept until a write succeeds.
final class TokenRefresher: Sendable {
    let environment: FlowEnvironment
    let queue = RefreshQueue<RefreshKey, AcquiredToken>()
    let throttling = RefreshThrottling()
    private let leases: LeasesAwaitingWrite

    init(_ environment: FlowEnvironment) {
        self.environment = environment
        leases = LeasesAwaitingWrite(store: environment.store)
    }

    /// Redeems the refresh token, once for all processes that share it, and stores the result.
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

    /// - Throws: `.signInExpired` for a while after the server refused the refresh token to any process, unless the
    ///   caller forces the refresh.
    func checkIsNotRefused(_ token: CachedRefreshToken, for request: SilentRequest, _ context: RequestContext) throws {
        let now = environment.clock.unixSeconds
        guard !request.isForced, let seconds = token.refusedFor(request.refusalKey, at: now) else { return }
        throw AuthenticationError.refused(for: seconds, context)
    }

    /// Waits until the running refreshes have ended and the failed writes have been repeated.
    func finish() async throws {
        try await queue.finish()
        do {
            try await environment.store.saveUnsaved()
        } catch {
            // Writes of other accounts may have succeeded.
            await leases.finish()
            throw error
        }
        await leases.finish()
    }
}

/// The leases of refreshes whose new refresh token is not written yet.
final class LeasesAwaitingWrite: Sendable {
    private let store: CredentialStore
    /// Each task returns the lease if it is still held when the task is cancelled.
    private let tasks = Mutex<[RecordID: Task<RefreshLeaseStore.Held?, Never>]>([:])

    init(store: CredentialStore) {
        self.store = store
    }

    /// The unsaved writes disappear with the store, so that there is nothing left to try.
    deinit {
        for task in tasks.withLock({ $0 }).values { task.cancel() }
    }

    /// Keeps a lease until `task` has released it.
    func keep(_ id: RecordID, by task: Task<RefreshLeaseStore.Held?, Never>) {
        tasks.withLock { $0[id] = task }
    }

    /// Returns the lease that is kept for the credentials, if there is one. The caller releases it.
    func take(_ id: RecordID) async -> RefreshLeaseStore.Held? {
        guard let task = tasks.withLock({ $0.removeValue(forKey: id) }) else { return nil }
        task.cancel()
        return await task.value
    }

    /// Waits until the leases whose writes have succeeded by now are released.
    func finish() async {
        for (id, task) in tasks.withLock({ $0 }) where store.unsaved(id) == nil { _ = await task.value }
    }
}
