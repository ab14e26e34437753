// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityTelemetry
import Synchronization
import SystemSupport

/// The refreshes of one application object: their queue, their pauses, and the leases kept until a write succeeds.
final class TokenRefresher: Sendable {
    let environment: FlowEnvironment
    /// Runs one refresh of a credential at a time.
    let queue = SharedWorkQueue<CacheKey, SilentRequest, AcquiredToken>(endsQueue: TokenRefresher.endsQueue)
    let throttling = RefreshThrottling()
    private let strays = StrayLeases()
    /// The credentials whose refresh waits for another process.
    private let waiting = Mutex<Set<RecordID>>([])
    /// The refreshes whose new refresh token is not written yet. Each task returns its lease if the lease is still held
    /// when the task is cancelled.
    private let awaitingWrite = Mutex<[RecordID: Task<RefreshLeaseStore.Held?, Never>]>([:])

    init(_ environment: FlowEnvironment) {
        self.environment = environment
    }

    /// The unsaved writes disappear with the application object, so that there is nothing left to try.
    deinit {
        for task in awaitingWrite.withLock({ $0 }).values { task.cancel() }
    }

    /// Redeems the refresh token, once for all processes that share it, and stores the result.
    func refresh(_ request: SilentRequest, _ context: RequestContext) async throws -> AcquiredToken {
        environment.configuration.telemetry?.record(.refresh(.led))
        let driver = RefreshDriver(
            request,
            in: environment,
            throttling,
            context: context,
            lease: await takeLease(request.id),
            strays: strays
        ) { [weak self] waits in
            self?.waiting.withLock { waiting in
                if waits { waiting.insert(request.id) } else { waiting.remove(request.id) }
            }
        }
        let rest = await driver.run()
        if !rest.isEmpty { keepLease(request.id, by: Task { await driver.goOn(rest) }) }
        return try await driver.result()
    }

    /// - Throws: `.signInExpired` for a while after the server refused the refresh token to any process, unless the
    ///   caller forces the refresh.
    func checkIsNotRefused(_ token: CachedRefreshToken, for request: SilentRequest, _ context: RequestContext) throws {
        let now = environment.clock.unixSeconds
        guard !request.isForced, let seconds = token.refusedFor(request.refusalKey, at: now) else { return }
        throw AuthenticationError.refused(for: seconds, context)
    }

    /// Returns whether a failure also ends the refreshes that wait: if the network does not answer, each of them would
    /// wait as long in turn.
    static func endsQueue(_ error: any Error) -> Bool {
        AuthenticationError.Code.network ~= error
    }

    /// Keeps a lease until `task` has released it.
    func keepLease(_ id: RecordID, by task: Task<RefreshLeaseStore.Held?, Never>) {
        awaitingWrite.withLock { $0[id] = task }
    }

    /// Returns the lease that is kept for the credentials, if there is one. The caller releases it.
    func takeLease(_ id: RecordID) async -> RefreshLeaseStore.Held? {
        guard let task = awaitingWrite.withLock({ $0.removeValue(forKey: id) }) else { return nil }
        task.cancel()
        return await task.value
    }

    /// Whether a refresh of the credentials waits for another process now.
    func waitsForAnotherProcess(_ id: RecordID) -> Bool {
        waiting.withLock { $0.contains(id) }
    }

    /// Whether no refresh is running, queued, or not written yet.
    var isIdle: Bool {
        queue.isEmpty && environment.store.hasNoUnsaved && awaitingWrite.withLock(\.isEmpty)
    }

    /// Waits until the running refreshes have ended, and repeats the failed writes until they succeed or `time` is over.
    ///
    /// - Throws: A failure of a write. Writes of other accounts may have succeeded.
    func finish(writingFor time: Duration) async throws {
        try await queue.finish()
        let saved: Result<Void, any Error>
        do { saved = .success(try await saveUnsaved(for: time)) } catch { saved = .failure(error) }
        for (id, task) in awaitingWrite.withLock({ $0 }) where environment.store.unsaved(id) == nil {
            _ = await task.value  // releases its lease
        }
        try saved.get()
    }

    private func saveUnsaved(for time: Duration) async throws {
        guard !environment.store.hasNoUnsaved else { return }
        do {
            try await withDeadline(time) { [store = environment.store] in
                var pause = Duration.milliseconds(50)
                while true {
                    do {
                        return try await store.saveUnsaved()
                    } catch let error as AuthenticationError where error.mayPass {
                        try await Task.sleep(for: pause)
                        pause = min(pause * 2, .seconds(1))
                    }
                }
            }
        } catch is DeadlineExceeded {
            if let failure = environment.store.unsavedFailure { throw failure }
        }
    }
}

extension AuthenticationError {
    /// Whether a write that failed may succeed later. A record of a newer version of the library stays.
    fileprivate var mayPass: Bool { .cache ~= code && code != .cacheNewerVersion }
}

/// A silent request after validation, in the form that the refresh needs.
struct SilentRequest: Sendable {
    let id: RecordID
    /// The authority, with the account's tenant in place of `common` or `organizations`.
    let authority: Authority
    /// The scopes in the order in which they are sent.
    let scopes: [String]
    let claims: String?
    let isForced: Bool
    let need: CredentialRequest

    /// Identifies the refused request beside its refresh token, because a Microsoft refresh token is good for many
    /// APIs.
    var refusalKey: String { authority.isMicrosoft ? throttleKey + (claims.map { "|" + $0 } ?? "") : "" }

    /// Names the request for the throttle.
    var throttleKey: String {
        let parts = [authority.url, id.accountID] + need.matchableScopes.sorted()
        return (parts + [need.binding?.name].compactMap(\.self)).joined(separator: "|")
    }
}

extension SilentRequest: Equatable {
    /// Whether the callers of both requests may share one refresh.
    ///
    /// A caller with a lower minimum validity may accept a token from another process that a caller with a higher one
    /// may not.
    static func == (first: SilentRequest, second: SilentRequest) -> Bool {
        first.id == second.id && first.authority == second.authority && first.claims == second.claims
            && first.isForced == second.isForced && first.need.minimumValidity == second.need.minimumValidity
            && first.need.refusedToken == second.need.refusedToken
            && first.need.matchableScopes == second.need.matchableScopes && first.need.binding == second.need.binding
    }
}
