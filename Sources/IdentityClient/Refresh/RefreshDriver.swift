// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Logging
import OAuthWire

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
    private let begin = ContinuousClock.now
    private var leaseRecord: CacheRecord?
    private var lease: RefreshLeaseStore.Held?
    private var listener: RefreshWait?
    private var pauses = 0
    private var renewal: Task<Void, Never>?
    /// The write of a new refresh token that runs while the rest of the answer is checked.
    private var rotation: Task<Void, Never>?
    private var isValidating = false
    private var unsavedEnd: Promise<Void>?
    /// The errors that the machine refers to by number, each as it was thrown and as the caller receives it.
    private var faults: [(error: any Error, told: any Error)] = []
    private var outcome: RefreshOutcome?
    /// The record that was read last or is stored after a commit, and its token for the caller.
    var snapshot: CredentialSnapshot?
    private var found: CachedAccessToken?
    /// The use of one refresh token.
    var exchange: RefreshExchange?

    /// - Parameter lease: The lease that this process has kept since a write failed.
    init(
        _ request: SilentRequest,
        in environment: FlowEnvironment,
        _ throttling: RefreshThrottling,
        context: RequestContext,
        lease: RefreshLeaseStore.Held? = nil,
        machine: RefreshMachine? = nil
    ) {
        self.request = request
        self.environment = environment
        self.throttling = throttling
        self.context = context
        self.lease = lease
        let leases = RefreshLeaseStore(environment, request.id)
        self.leases = leases
        self.machine =
            machine
            ?? RefreshMachine(
                RefreshRules(request, environment.configuration, leaseDuration: leases.duration),
                hasKeptLease: lease != nil
            )
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
                return Array(actions)
            }
            if let event = await perform(action) { actions += machine.handle(event) }
        }
        return []
    }

    private func perform(_ action: RefreshMachine.Action) async -> RefreshMachine.Event? {
        do {
            switch action {
            case .readLease, .takeLease, .renewLease, .renewLeaseMeanwhile, .release, .listen, .wait:
                return try await environment.store.wrapping { try await performOnLease(action) }
            case .lookForUnsaved, .waitForWrite, .save: return try await performOnUnsaved(action)
            default: return try await performOnTokens(action)
            }
        } catch {
            return .failed(fault(error, action))
        }
    }

    private func performOnLease(_ action: RefreshMachine.Action) async throws -> RefreshMachine.Event? {
        switch action {
        case .readLease:
            let (record, sight) = try await leases.read(since: begin)
            leaseRecord = record
            return .leaseRead(sight)
        case .takeLease:
            lease = try await leases.take(over: leaseRecord)
            return .leaseTaken(lease != nil)
        case .renewLease:
            await renewal?.value
            return .leaseRenewed(try await renewNow())
        case .renewLeaseMeanwhile:
            // A process that has lost the lease still stores the answer.
            renewal = Task { _ = try? await renewNow() }
            return nil
        case .release:
            await renewal?.value
            if let lease { await Task { [leases] in await leases.release(lease) }.value }
            lease = nil
            return .done
        case .listen:
            listener = RefreshWait(for: [leases.key, leases.key.credential], in: environment.store.cache)
            return nil
        default:
            defer { pauses += 1 }
            return try await listener?.pause(pauses) == .hint ? .hint : .timeUp
        }
    }

    /// Finishes a replacement that has begun, because a cancelled one may or may not have been done.
    private func renewNow() async throws -> Bool {
        guard let lease else { return false }
        let request = environment.client.deadline
        let renewed = try await Task { [leases] in try await leases.renewed(lease, toOutlast: request) }.value
        self.lease = renewed
        return renewed != nil
    }

    private func performOnUnsaved(_ action: RefreshMachine.Action) async throws -> RefreshMachine.Event? {
        switch action {
        case .lookForUnsaved:
            unsavedEnd = environment.store.unsaved(request.id)?.end
            return .unsaved(unsavedEnd != nil)
        case .waitForWrite(let milliseconds):
            do {
                try await withDeadline(.milliseconds(milliseconds)) { [unsavedEnd] in try await unsavedEnd?.value() }
                return .written
            } catch is DeadlineExceeded {
                return .timeUp
            } catch {
                return .takenByTheNext
            }
        default:
            do {
                try await Task { [request, environment] in try await environment.store.saveUnsaved(request.id) }.value
            } catch AuthenticationError.Code.cacheNewerVersion {
                return .neverToBeWritten
            } catch {}  // the caller was told, and there is a next time
            return .done
        }
    }

    private func performOnTokens(_ action: RefreshMachine.Action) async throws -> RefreshMachine.Event? {
        switch action {
        case .prepare:
            (environment.client.transport as? any PreparableTransport)?.prepare()
            return nil
        case .readRecord:
            try await read()
            return .recordRead(facts)
        case .checkThrottling: try await checkThrottling()
        case .findProvider: try await findProvider()
        case .fetchKeys: await fetchKeys()
        case .send: return try await send()
        case .validate: return try await validate()
        case .forgetRefusals:
            forgetRefusals()
            return nil
        case .commitRotation:
            try await commitRotation()
            return .committed(facts)
        case .commit(let base):
            try await commit(replacing: base)
            return .committed(facts)
        case .revoke: await revoke()
        case .note(let fault, let base): await note(faults[fault.number].error, of: base)
        default:
            guard case .remember(let fault) = action else { return nil }
            await remember(faults[fault.number].error)
        }
        return .done
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

    private func validate() async throws -> RefreshMachine.Event {
        let outcome: Result<Void, any Error>
        isValidating = true
        do { outcome = .success(try await believe()) } catch { outcome = .failure(error) }
        isValidating = false
        await rotation?.value
        try outcome.get()
        return .believed
    }

    private func send() async throws -> RefreshMachine.Event {
        switch try await redeem() {
        case .accepted(let response):
            keep(response)
            return .answered(rotated: exchange?.rotatedSecret.map(RecordFacts.digest))
        case .refused(let error): throw error
        case .ambiguous(let error):
            context.logger.debug(
                "The answer to a refresh is not clear",
                metadata: ["identity.error": "\(error.shortDescription)"]
            )
            return .ambiguous(fault(error, .send))
        }
    }
}

// The facts that the machine decides by.
extension RefreshDriver {
    private func read() async throws {
        snapshot = try await environment.store.snapshot(for: request.id)
        (found, exchange) = (nil, nil)
        guard let snapshot else { return }
        let now = environment.clock.unixSeconds
        if case .valid(let token) = snapshot.credentials.selection(for: request.need, at: now) { found = token }
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

    private func fault(_ error: any Error, _ action: RefreshMachine.Action) -> RefreshFault {
        var fault = RefreshFault()
        fault.number = faults.count
        guard let error = error as? AuthenticationError else {
            faults.append((error, error))
            return fault
        }
        let told = action == .send ? exchange?.scopes.explaining(error) ?? error : error
        faults.append((error, told))
        fault.isUnavailable = .serverUnavailable ~= error.code
        fault.refusesTheToken = error.serverError != nil && (error.isOfADeadToken || error.code == .signInExpired)
        fault.needsPerson = .interactionRequired ~= told.code && told.code != .accountRemoved
        return fault
    }

    /// Returns the caller's token, or throws the caller's error, after the machine has finished.
    func result() throws -> AcquiredToken {
        switch outcome {
        case .found:
            guard let snapshot, let found else { throw AuthenticationError.removed(context) }
            return AcquiredToken(snapshot: snapshot, token: found, source: .cache)
        case .granted:
            guard let snapshot, let token = exchange?.token else { throw AuthenticationError.removed(context) }
            return AcquiredToken(
                snapshot: snapshot,
                token: token,
                source: .identityProvider,
                correlationID: context.correlationID
            )
        case .failed(let fault): throw faults[fault.number].told
        case .removed, nil: throw AuthenticationError.removed(context)
        case .withoutToken: throw AuthenticationError.withoutToken(context)
        case .newerVersion: throw AccountCredentials.newerVersion
        case .refused(let seconds): throw AuthenticationError.refused(for: seconds, context)
        case .notAccepted: throw CredentialStore.busy
        case .waitedTooLong:
            throw AuthenticationError(
                .cacheBusy,
                "Another program has been refreshing this token for too long, or cannot store what it got. Try again."
            )
        case .takenOver:
            throw AuthenticationError(
                .cacheBusy,
                "Another program took over the refresh of this token. Try again."
            )
        }
    }
}
