// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import SystemSupport

// The results of the actions that machines want.
extension Explorer {
    /// Does the process's next action, and then every action that touches nothing shared.
    mutating func step(_ state: ModelState, _ index: Int) throws -> ModelState {
        var (next, me) = (state, processes[state.processes[index]])
        try perform(&me, &next, index)
        settle(&me, &next, index)
        return next
    }

    /// Gives the process an event in place of the result of its next action.
    mutating func step(
        _ state: ModelState,
        _ index: Int,
        _ event: RefreshMachine.Event,
        _ change: (inout ModelProcess, inout ModelState) -> Void
    ) -> ModelState {
        var (next, me) = (state, processes[state.processes[index]])
        change(&me, &next)
        me.actions.removeFirst()
        me.actions += tell(&me, event)
        settle(&me, &next, index)
        return next
    }

    /// Does the actions that touch nothing shared, and puts the process into the state.
    mutating func settle(_ me: inout ModelProcess, _ next: inout ModelState, _ index: Int) {
        while let action = me.actions.first {
            if let omitted = omitted(action, me) {
                me.actions.removeFirst()
                me.actions += tell(&me, omitted)
                continue
            }
            var event: RefreshMachine.Event?
            switch action {
            case .listen, .prepare, .forgetRefusals: event = nil
            case .checkThrottling where next.left.unsentRequests == 0,
                .findProvider where next.left.unsentRequests == 0,
                .fetchKeys, .revoke, .note:
                event = .done
            case .reserve
            where next.left.fullDisks + next.left.outages == 0 && !next.isFull && !next.refusesWrites:
                me.hasReservation = true
                event = .done
            case .lookForUnsaved: event = .unsaved(me.unsaved != nil)
            case .renewLease where outlasts(me, next):
                me.sentAt = next.tick
                event = .leaseRenewed(true)
            case .validate where next.left.faults + next.left.fetches == 0: event = .believed
            case .renewLeaseMeanwhile: _ = renews(&me, &next, index)
            case .finish(let outcome):
                if outcome == .removed, next.record != nil, !next.families.contains(where: \.isSignedOut) {
                    report("an account counted as removed although it is signed in")
                }
                (me.granted, me.refused) = (nil, nil)
            default:
                me.tidy(next.lease)
                next.processes[index] = processes.number(of: me)
                return
            }
            me.actions.removeFirst()
            if let event { me.actions += tell(&me, event) }
        }
        me.tidy(next.lease)
        next.processes[index] = processes.number(of: me)
    }

    private mutating func perform(_ me: inout ModelProcess, _ next: inout ModelState, _ index: Int) throws {
        let event: RefreshMachine.Event
        switch me.actions.removeFirst() {
        case .readLease:
            me.leaseRead = next.lease
            event = .leaseRead(sight(next, index))
        case .takeLease:
            let isFree = next.lease == me.leaseRead
            guard !isFree || !next.refusesWrites else {
                event = .failed(RefreshFault())
                break
            }
            if isFree {
                next.lease = lease(&me, next, index)
                me.leaseRead = nil
            }
            event = .leaseTaken(isFree)
        case .renewLease:
            event = renews(&me, &next, index).map { .leaseRenewed($0) } ?? .failed(RefreshFault())
        case .release:
            Self.release(&me, &next, isFailing: next.refusesWrites, isDone: false, remembers: remembersLeases(index))
            event = .done
        // Number 1 has hints.
        case .wait: event = index == 1 ? .hint : .timeUp
        case .readRecord:
            if me.unsaved != nil { try save(&me, &next) }
            me.read = read(try inMemory(me, next), &me)
            (me.requests, me.wasLate) = (0, false)
            event = .recordRead(facts(me.read, index, now(next, me)))
        case .checkThrottling, .findProvider: event = .done
        case .reserve:
            me.hasReservation = !next.isFull && !next.refusesWrites
            event = me.hasReservation ? .done : .failed(RefreshFault())
        case .send: event = arrive(&me, &next, index)
        case .validate: event = .believed
        case .commitRotation: event = try commit(&me, &next, index, rotation: true)
        case .commit: event = try commit(&me, &next, index, rotation: false)
        case .remember:
            remember(&me, &next)
            event = .done
        case .waitForWrite: event = me.unsaved == nil ? .written : .timeUp
        case .save:
            try save(&me, &next)
            event = .done
        default: return
        }
        me.actions += tell(&me, event)
    }

    func now(_ state: ModelState, _ me: ModelProcess) -> Int64 {
        Self.epoch + Int64(state.tick) * Self.tick / 1000 + me.clockOffset
    }
}

// The lease.
extension Explorer {
    private func sight(_ state: ModelState, _ index: Int) -> LeaseSight {
        let isOwn = state.lease.map { isStray($0, processes[state.processes[index]]) } ?? false
        let (lease, me) = (isOwn ? nil : state.lease.map { leases[$0] }, Self.identity(index))
        return LeaseSight(
            lease,
            observer: me,
            elapsed: Int64(state.tick) * Self.tick,
            isLocked: isLocked(state, for: index),
            // In its own namespace a process finds no process of another one.
            holderIsDead: lease.map { !me.sees($0.holder) || !processes[state.processes[$0.holder.pid - 100]].isAlive }
                ?? false
        )
    }

    private func isStray(_ lease: Int, _ process: ModelProcess) -> Bool {
        process.strays.contains(lease) || process.noted.contains(lease)
    }

    /// Whether a process remembers a lease that could not be removed. With a lock it is free all the same.
    func remembersLeases(_ index: Int) -> Bool { index == olderProcess && mistake != .triesTheReleaseOnce }

    /// Gives the lease back.
    ///
    /// - Parameter isDone: Whether a removal that fails is done all the same.
    static func release(
        _ me: inout ModelProcess,
        _ next: inout ModelState,
        isFailing: Bool,
        isDone: Bool,
        remembers: Bool
    ) {
        if let held = me.held, next.lease == held {
            if !isFailing || isDone { next.lease = nil }
            if isFailing, remembers { me.strays.insert(held) }
        }
        me.strays.formUnion(me.noted)
        (me.held, me.noted, me.hasReservation) = (nil, [], false)
    }

    /// Leases that the store writes later, and those that a process removes beside its refreshes.
    func laterHappenings(_ state: ModelState) -> [(index: Int, process: ModelProcess, lease: Int?)] {
        state.processes.indices.flatMap { index -> [(index: Int, process: ModelProcess, lease: Int?)] in
            var process = processes[state.processes[index]]
            var result: [(index: Int, process: ModelProcess, lease: Int?)] = []
            if let delayed = process.delayed {
                process.delayed = nil
                result.append((index, process, state.lease == delayed.expected ? delayed.number : state.lease))
            }
            if process.isAlive, !state.refusesWrites, let lease = state.lease, process.strays.contains(lease) {
                process = processes[state.processes[index]]
                process.strays.remove(lease)
                result.append((index, process, nil))
            }
            return result
        }
    }

    /// Whether the lock of the lease is held, as a process sees it. It is lost with the lease that a process has in hand.
    private func isLocked(_ state: ModelState, for index: Int) -> Bool? {
        guard let number = state.lease, leases[number].isLocked, index != olderProcess else { return nil }
        let holder = processes[state.processes[leases[number].holder.pid - 100]]
        return holder.isAlive && holder.held == number
    }

    mutating func lease(_ me: inout ModelProcess, _ state: ModelState, _ index: Int) -> Int {
        me.takes += 1
        let lease = RefreshLease(
            nonce: "\(index).\(me.takes)",
            duration: Self.leaseDuration,
            holder: Self.identity(index),
            deadline: Int64(state.tick) * Self.tick + Self.leaseDuration,
            isLocked: index != olderProcess
        )
        let number = leases.number(of: lease)
        (me.held, me.sentAt) = (number, state.tick)
        return number
    }

    func outlasts(_ me: ModelProcess, _ state: ModelState) -> Bool {
        me.held.map { leases[$0].outlasts(Self.requestDeadline, at: Int64(state.tick) * Self.tick) } ?? false
    }

    /// `false` if another process took the lease over; `nil` if the store refuses it.
    private mutating func renews(_ me: inout ModelProcess, _ next: inout ModelState, _ index: Int) -> Bool? {
        if outlasts(me, next) {
            me.sentAt = next.tick
            return true
        }
        guard let held = me.held else { return false }
        guard next.lease == held || next.lease.map({ isStray($0, me) }) == true else { return false }
        guard !next.refusesWrites else { return nil }
        next.lease = lease(&me, next, index)
        return true
    }
}

// The provider.
extension Explorer {
    /// It rotates, answers once more where the newest token is not yet used, or takes it for theft.
    mutating func arrive(_ me: inout ModelProcess, _ next: inout ModelState, _ index: Int) -> RefreshMachine.Event {
        guard let sent = me.read.flatMap({ records[$0].refreshToken?.secret }), let family = Self.family(of: sent),
            let number = Self.number(of: sent)
        else { return .failed(RefreshFault()) }
        me.requests += 1
        if me.wasLate { report("a refresh token was sent again after the process stood still in its request") }
        if me.requests > 2 { report("a refresh token was sent three times") }
        if me.refused == number { report("a process sent a refresh token again that it was refused with") }
        if next.families[family].refused == number, index != forcedProcess {
            report("a refresh token was sent again although it had just been refused")
        }
        let current = next.families[family].current
        if next.left.withoutRotation > 0 {
            (me.family, me.granted) = (family, current)
            return .answered(rotated: nil)
        }
        if number == current {
            next.families[family].current += 1
        } else {
            if !next.wasSuspended, !next.families[family].lostAnAnswer, !next.families[family].isSignedOut {
                report("a refresh token was sent twice")
            }
            if number != current - 1 || next.left.withoutGrace > 0 { next.families[family].isRevoked = true }
        }
        guard !next.families[family].isRevoked else { return .failed(RefreshFault()) }
        (me.family, me.granted) = (family, next.families[family].current)
        return .answered(rotated: Self.refreshToken(family, next.families[family].current))
    }

    /// Remembers with the record that the refresh token was refused.
    private mutating func remember(_ me: inout ModelProcess, _ next: inout ModelState) {
        guard canWrite(me, next) else {
            for family in next.families.indices { next.families[family].refused = nil }
            return
        }
        me.hasReservation = false
        guard let sent = me.read.flatMap({ records[$0].refreshToken }), let number = next.record,
            let token = records[number].refreshToken, token.secret == sent.secret
        else { return }
        var credentials = records[number]
        credentials.refreshToken = token.refused("", at: now(next, me))
        next.record = records.number(of: credentials)
    }
}

// The store: a commit reads, replays and replaces until no other process wrote in between, so that it is one step.
extension Explorer {
    /// Returns the writes that follow an answer, with all earlier writes that failed.
    mutating func pending(
        _ me: ModelProcess,
        _ state: ModelState,
        _ index: Int,
        rotation: Bool
    ) throws -> PendingWrites? {
        guard let base = me.read.map({ records[$0] }), let sent = base.refreshToken, let family = me.family,
            let granted = me.granted
        else { return nil }
        let write: AccountWrite =
            rotation
            ? .rotate(base, sent: sent, secret: Self.refreshToken(family, granted))
            : .refresh(
                base,
                sent: sent,
                try Self.grant(
                    family: family,
                    number: granted,
                    scope: scope(index),
                    rotates: state.left.withoutRotation == 0
                )
            )
        let earlier = me.unsaved.map { writes[$0] }
        var pending = PendingWrites(write, hadRecord: earlier?.hadRecord ?? true, at: now(state, me))
        pending.meets(state.record.map { records[$0] })
        return earlier?.followed(by: pending) ?? pending
    }

    private mutating func commit(
        _ me: inout ModelProcess,
        _ next: inout ModelState,
        _ index: Int,
        rotation: Bool
    ) throws -> RefreshMachine.Event {
        guard let pending = try pending(me, next, index, rotation: rotation) else { return .failed(RefreshFault()) }
        if !rotation { me.granted = nil }
        guard canWrite(me, next) else {
            me.unsaved = writes.number(of: pending)
            return .committed(facts(try inMemory(me, next), index, now(next, me)))
        }
        let current = next.record.map { records[$0] }
        next.record = try committed(pending, me.read.map { records[$0] }, over: current).map { records.number(of: $0) }
        (me.unsaved, me.hasReservation) = (nil, false)
        return .committed(facts(next.record, index, now(next, me)))
    }

    /// Whether the store takes the record of a process.
    private func canWrite(_ me: ModelProcess, _ state: ModelState) -> Bool {
        !state.refusesWrites && (!state.isFull || me.hasReservation)
    }

    mutating func save(_ me: inout ModelProcess, _ next: inout ModelState) throws {
        guard let unsaved = me.unsaved, canWrite(me, next) else { return }
        try write(writes[unsaved], &next)
        (me.unsaved, me.hasReservation) = (nil, false)
    }

    /// The record as a process sees it: with the writes that are in its memory.
    mutating func inMemory(_ me: ModelProcess, _ state: ModelState) throws -> Int? {
        guard let unsaved = me.unsaved else { return state.record }
        let current = state.record.map { records[$0] }
        return try replayed(writes[unsaved], onto: current).map { records.number(of: $0) }
    }

    mutating func write(_ pending: PendingWrites, _ next: inout ModelState) throws {
        let current = next.record.map { records[$0] }
        next.record = try replayed(pending, onto: current).map { records.number(of: $0) }
    }
}
