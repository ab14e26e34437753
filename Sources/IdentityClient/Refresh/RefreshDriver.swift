// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityTelemetry
import SystemSupport

/// Performs the actions of one ``RefreshMachine``, and reports the results to it.
///
/// The driver makes no decision about tokens: the machine chooses each next step. The driver keeps the credentials,
/// answers and errors that the machine refers to.
actor RefreshDriver {
    let environment: FlowEnvironment
    let throttling: RefreshThrottling
    let context: RequestContext
    let request: SilentRequest

    private var machine: RefreshMachine
    private let leases: RefreshLeaseStore
    private let begin = SuspendingClock.now
    private var leaseRecord: CacheRecord?
    private var lease: RefreshLeaseStore.Held?
    /// The write of the answer, and the descriptors for it.
    private var reservation: RefreshReservation?
    private var listener: LeaseWait?
    private var waiting: (begin: ContinuousClock.Instant, span: (any OpenSpan)?)?
    private let reportsWait: @Sendable (Bool) -> Void
    private var renewal: Task<Void, Never>?
    /// The write of a new refresh token that runs while the rest of the answer is checked.
    private var rotation: Task<Void, Never>?
    private var isValidating = false
    private var unsavedEnd: Promise<Void>?
    /// The errors that the machine refers to by number.
    private var faults: [any Error] = []
    private var outcome: RefreshOutcome?
    /// The record that was read last or is stored after a commit.
    var snapshot: CredentialSnapshot?
    /// The access token that answers the caller, from the record or from the provider.
    var token: CachedAccessToken?
    /// The use of one refresh token.
    var exchange: RefreshExchange?

    /// - Parameters:
    ///   - lease: The lease that this process has kept since a write failed.
    ///   - strays: The leases that this process may have without holding them.
    ///   - reportsWait: Gets `true` when a wait for another process begins, and `false` when it ends.
    init(
        _ request: SilentRequest,
        in environment: FlowEnvironment,
        _ throttling: RefreshThrottling,
        context: RequestContext,
        lease: RefreshLeaseStore.Held? = nil,
        strays: StrayLeases = StrayLeases(),
        machine: RefreshMachine? = nil,
        reportsWait: @escaping @Sendable (Bool) -> Void = { _ in }
    ) {
        self.reportsWait = reportsWait
        self.request = request
        self.environment = environment
        self.throttling = throttling
        self.context = context
        self.lease = lease
        leases = RefreshLeaseStore(
            cache: environment.store.cache,
            key: environment.store.key(for: request.id).lease,
            duration: environment.client.deadline + .seconds(15),
            strays: strays
        )
        var rules = RefreshRules(leaseDuration: leases.duration.milliseconds)
        rules.skipsAccessToken = request.need.skipsAccessToken
        rules.isForced = request.isForced
        self.machine = machine ?? RefreshMachine(rules, hasKeptLease: lease != nil)
    }

    /// Performs actions until the caller can be answered.
    ///
    /// - Returns: The actions that are still to do afterwards.
    func run(_ actions: [RefreshMachine.Action]? = nil) async -> [RefreshMachine.Action] {
        await drive(actions ?? machine.handle(.begin))
    }

    /// Performs the remaining actions until the lease is released or the task is cancelled.
    ///
    /// - Returns: The lease if it is still held.
    func goOn(_ actions: [RefreshMachine.Action]) async -> RefreshLeaseStore.Held? {
        _ = await drive(actions)
        return lease
    }

    private func drive(_ first: [RefreshMachine.Action]) async -> [RefreshMachine.Action] {
        var actions = first[...]
        while let action = actions.popFirst() {
            if case .finish(let outcome) = action {
                self.outcome = outcome
                endWait(Self.completion(of: outcome))
                return Array(actions)
            }
            do {
                if let event = try await perform(action) { actions += machine.handle(event) }
            } catch {
                actions += machine.handle(.failed(fault(error)))
            }
        }
        return []
    }

    /// - Returns: The event that tells the machine the result; `nil` for an action without a result.
    private func perform(_ action: RefreshMachine.Action) async throws -> RefreshMachine.Event? {
        switch action {
        case .readLease:
            let (record, sight) = try await environment.store.wrapping { try await leases.read(since: begin) }
            leaseRecord = record
            return .leaseRead(sight)
        case .takeLease:
            lease = try await environment.store.wrapping { try await leases.take(over: leaseRecord) }
            if lease != nil { endWait(.success()) }
            return .leaseTaken(lease != nil)
        case .renewLease:
            await renewal?.value
            return .leaseRenewed(try await environment.store.wrapping { try await renewNow() })
        case .renewLeaseMeanwhile:
            // A process that has lost the lease still stores the answer.
            renewal = Task { _ = try? await renewNow() }
            return nil
        case .release:
            await renewal?.value
            await reservation?.release()
            if let lease { await Task { [leases] in await leases.release(lease) }.value }
            lease = nil
        case .listen:
            beginWait()
            listener = LeaseWait(for: [leases.key, leases.key.credential], in: environment.store.cache)
            return nil
        case .wait: return try await listener?.pause() == .hint ? .hint : .timeUp
        case .prepare:
            (environment.client.transport as? any PreparableTransport)?.prepare()
            return nil
        case .readRecord:
            try await read()
            return .recordRead(facts)
        case .checkThrottling: try await checkThrottling()
        case .findProvider: try await findProvider()
        case .fetchKeys: await fetchKeys()
        case .reserve: try await reserve()
        case .send: return try await send()
        case .validate: return try await validate()
        case .forgetRefusals:
            if let exchange { throttling.forgetRefusals(of: exchange.refusalsKey(.sent)) }
            return nil
        case .commitRotation:
            try await commitRotation()
            return .committed(facts)
        case .commit(let base):
            try await commit(replacing: base)
            return .committed(facts)
        case .revoke: await revoke()
        case .note(let fault, let base): await note(faults[fault.number], of: base)
        case .remember(let fault): await remember(faults[fault.number])
        case .lookForUnsaved:
            unsavedEnd = environment.store.unsaved(request.id)?.end
            return .unsaved(unsavedEnd != nil)
        case .waitForWrite(let milliseconds): return await waitForWrite(.milliseconds(milliseconds))
        case .save: return await save()
        case .finish: return nil
        }
        return .done
    }
}

// The lease, and the writes that it is kept for.
extension RefreshDriver {
    /// Finishes a replacement that has begun, because a cancelled one may or may not have been done.
    private func renewNow() async throws -> Bool {
        guard let lease else { return false }
        let request = environment.client.deadline
        let renewed = try await Task { [leases] in try await leases.renewed(lease, toOutlast: request) }.value
        self.lease = renewed
        return renewed != nil
    }

    private func waitForWrite(_ duration: Duration) async -> RefreshMachine.Event {
        do {
            try await withDeadline(duration) { [unsavedEnd] in try await unsavedEnd?.value() }
            return .written
        } catch {
            return error is DeadlineExceeded ? .timeUp : .takenByTheNext
        }
    }

    private func save() async -> RefreshMachine.Event {
        do {
            try await Task { [request, environment] in try await environment.store.saveUnsaved(request.id) }.value
        } catch AuthenticationError.Code.cacheNewerVersion {
            return .neverToBeWritten
        } catch {}  // the caller was told, and there is a next time
        return .done
    }
}

// The write of the answer, before it is asked for.
extension RefreshDriver {
    private func reserve() async throws {
        await reservation?.release()
        guard let exchange else { throw AuthenticationError.removed(context) }
        do {
            reservation = try await RefreshReservation(for: exchange.snapshot, in: environment.store)
        } catch let error as AuthenticationError {
            throw error.beforeARefresh(context)
        }
    }

    /// Frees the descriptors that a write needs now.
    func beginWrite() {
        reservation?.freeDescriptors()
    }
}

// The wait for another process, as one measured time.
extension RefreshDriver {
    private func beginWait() {
        guard waiting == nil else { return }
        waiting = (.now, environment.configuration.telemetry?.begin(.lease, correlationID: nil))
        reportsWait(true)
    }

    private func endWait(_ completion: Completion) {
        guard let (begin, span) = waiting else { return }
        waiting = nil
        reportsWait(false)
        span?.end(completion)
        environment.configuration.telemetry?.record(.finished(.lease, completion, begin.duration(to: .now)))
    }

    /// The end of a wait that did not end with the lease: another process brought the tokens, or none did in time.
    private static func completion(of outcome: RefreshOutcome) -> Completion {
        switch outcome {
        case .found, .granted: .success()
        default: .failure(AuthenticationError.Family.cache.rawValue)
        }
    }
}

// The check of an answer, during which its new refresh token may be stored.
extension RefreshDriver {
    private func validate() async throws -> RefreshMachine.Event {
        let outcome: Result<Void, any Error>
        isValidating = true
        do { outcome = .success(try await believe()) } catch { outcome = .failure(error) }
        isValidating = false
        await rotation?.value
        try outcome.get()
        return .believed
    }

    /// Tells the machine that keys or endpoints are fetched before the answer is accepted. Does nothing if the check
    /// has been given up.
    func willFetch() async {
        guard isValidating else { return }
        let before = rotation
        rotation = Task {
            await before?.value
            _ = await drive(machine.handle(.willFetch))
        }
        await rotation?.value
    }
}

// The facts that the machine decides by, and the answer to the caller.
extension RefreshDriver {
    private func read() async throws {
        snapshot = try await environment.store.snapshot(for: request.id)
        (token, exchange) = (nil, nil)
        guard let snapshot else { return }
        let now = environment.clock.unixSeconds
        if case .valid(let valid) = snapshot.credentials.selection(for: request.need, at: now) { token = valid }
        exchange = snapshot.credentials.refreshToken.map { RefreshExchange(request, snapshot, sent: $0) }
    }

    private var facts: RecordFacts? {
        snapshot.map {
            RecordFacts(
                $0.credentials,
                for: request.need,
                refusalKey: request.refusalKey,
                at: environment.clock.unixSeconds
            )
        }
    }

    func fault(_ error: any Error) -> RefreshFault {
        var fault = RefreshFault()
        fault.number = faults.count
        faults.append(error)
        guard let error = error as? AuthenticationError else { return fault }
        fault.isUnavailable = .serverUnavailable ~= error.code
        fault.refusesTheToken =
            error.serverError != nil
            && (error.isOfADeadToken || error.code == .signInExpired || error.isOfAnotherFamily)
        fault.needsPerson = .interactionRequired ~= error.code && error.code != .accountRemoved
        return fault
    }

    /// Returns the caller's token, or throws the caller's error, after the machine has finished.
    func result() throws -> AcquiredToken {
        switch outcome {
        case .found: return try acquired(from: .cache)
        case .granted: return try acquired(from: .identityProvider)
        case .failed(let fault): throw faults[fault.number]
        case .removed, nil: throw AuthenticationError.removed(context)
        // Another process learned that the refresh token is invalid for good.
        case .withoutToken:
            throw context.error(
                .noTokensFound,
                "The provider no longer accepts this account's refresh token: sign in interactively."
            )
        case .newerVersion: throw AccountCredentials.newerVersion
        case .refused(let seconds): throw AuthenticationError.refused(for: seconds, context)
        case .notAccepted: throw CredentialStore.busy
        case .waitedTooLong:
            throw AuthenticationError(
                .cacheBusy,
                "Another program has been refreshing this token for too long, or cannot store what it got. Try again."
            )
        case .takenOver:
            throw AuthenticationError(.cacheBusy, "Another program took over the refresh of this token. Try again.")
        }
    }

    private func acquired(from source: AuthenticationResult.Source) throws -> AcquiredToken {
        guard let snapshot, let token else { throw AuthenticationError.removed(context) }
        let correlationID = source == .cache ? nil : context.correlationID
        return AcquiredToken(snapshot: snapshot, token: token, source: source, correlationID: correlationID)
    }
}
