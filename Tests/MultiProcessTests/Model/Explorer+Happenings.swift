// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import OAuthWire

// What happens beside the steps of the machines.
extension Explorer {
    mutating func happenings(_ state: ModelState) throws -> [ModelState] {
        var result = try state.processes.indices.flatMap { try happenings(state, to: $0) }
        for (index, process, lease) in laterHappenings(state) {
            var next = state
            next.lease = lease
            next.processes[index] = processes.number(of: process)
            result.append(next)
        }
        if state.tick < state.left.ticks,
            !state.processes.contains(where: { processes[$0].isInAHurry && processes[$0].sentAt < state.tick })
        {
            var next = state
            next.tick += 1
            result.append(next)
        }
        if state.isFull || state.left.fullDisks > 0 {
            var next = state
            if !state.isFull { next.left.fullDisks -= 1 }
            next.isFull.toggle()
            result.append(next)
        }
        if state.refusesWrites || state.left.outages > 0 {
            var next = state
            if !state.refusesWrites { next.left.outages -= 1 }
            next.refusesWrites.toggle()
            result.append(next)
        }
        // Other programs cannot write then, either.
        if state.refusesWrites { return result }
        if state.left.signOuts > 0, let number = state.record, let family = Int(records[number].signInID) {
            var next = state
            next.left.signOuts -= 1
            next.record = nil
            for older in 0...family { next.families[older].isSignedOut = true }
            result.append(next)
        }
        if state.left.writesBeside > 0, let number = state.record {
            var next = state
            next.left.writesBeside -= 1
            var credentials = records[number]
            credentials.unknown["beside"] = .integer(next.left.writesBeside)
            next.record = records.number(of: credentials)
            result.append(next)
        }
        return result + (try signIns(state))
    }

    private mutating func signIns(_ state: ModelState) throws -> [ModelState] {
        var result: [ModelState] = []
        if state.left.signIns > 0 {
            var next = state
            next.left.signIns -= 1
            try write(try signIn(&next, isBlind: false), &next)
            result.append(next)
        }
        if state.left.unsureSignIns > 0, state.signIn == nil {
            var next = state
            next.left.unsureSignIns -= 1
            let pending = try signIn(&next, isBlind: false)
            next.signIn = ModelSignIn(family: next.families.count - 1, writes: writes.number(of: pending))
            try write(pending, &next)
            result.append(next)
        }
        if state.left.blindSignIns > 0, state.signIn == nil {
            var next = state
            next.left.blindSignIns -= 1
            let pending = try signIn(&next, isBlind: true)
            next.signIn = ModelSignIn(
                family: next.families.count - 1,
                writes: writes.number(of: pending),
                isBlind: true
            )
            result.append(next)
        }
        if let signIn = state.signIn {
            var next = state
            next.signIn = nil
            try write(writes[signIn.writes], &next)
            if next.record == nil, !state.families[signIn.family].isSignedOut, signIn.isBlind {
                report("a sign-in was dropped")
            }
            result.append(next)
        }
        return result
    }

    /// The process of the sign-in has seen the account before.
    private mutating func signIn(_ next: inout ModelState, isBlind: Bool) throws -> PendingWrites {
        let family = next.families.count
        next.families.append(ModelFamily())
        let fresh = try Self.credentials(family: family, refreshToken: nil)
        let now = Self.epoch + Int64(next.tick) * Self.tick / 1000
        var pending = PendingWrites(
            .signIn(fresh, try Self.grant(family: family, number: 0)),
            hadRecord: true,
            at: now
        )
        if !isBlind || mistake == .guessesTheRecord { pending.meets(next.record.map { records[$0] }) }
        return pending
    }

    private mutating func happenings(_ state: ModelState, to index: Int) throws -> [ModelState] {
        let process = processes[state.processes[index]]
        guard process.isAtWork, let action = process.actions.first else { return [] }
        var result: [ModelState] = []
        if state.left.crashes > 0 { result.append(crash(state, index)) }
        for jump in [-86_400, 86_400] as [Int64] where state.left.clockJumps > 0 {
            var next = state
            next.left.clockJumps -= 1
            next.processes[index] = changed(process) { $0.clockOffset += jump }
            result.append(next)
        }
        if state.left.suspensions > 0, process.isInAHurry {
            var next = state
            next.left.suspensions -= 1
            next.wasSuspended = true
            next.processes[index] = changed(process) { $0.isSuspended = true }
            result.append(next)
        }
        switch action {
        case .checkThrottling where state.left.unsentRequests > 0, .findProvider where state.left.unsentRequests > 0:
            result += unsentRequests(state, index, action)
        case .send: result += happeningsToARequest(state, index)
        case .validate:
            if state.left.faults > 0 {
                result.append(
                    step(state, index, .failed(RefreshFault())) { _, next in next.left.faults -= 1 }
                )
            }
            if state.left.fetches > 0 {
                var (next, me) = (state, process)
                next.left.fetches -= 1
                // The answer is looked at after that.
                me.actions = tell(&me, .willFetch) + me.actions
                settle(&me, &next, index)
                result.append(next)
            }
        case .takeLease where state.left.failedLeaseWrites > 0, .renewLease where state.left.failedLeaseWrites > 0:
            result += failedLeaseWrites(state, index, action)
        case .release where state.left.failedLeaseWrites > 0 && index == olderProcess:
            let remembers = remembersLeases(index)
            for isDone in [false, true] {
                let failed = step(state, index, .done) { me, next in
                    next.left.failedLeaseWrites -= 1
                    Self.release(&me, &next, isFailing: true, isDone: isDone, remembers: remembers)
                }
                result.append(failed)
            }
        case .commitRotation where state.left.failedWrites > 0, .commit where state.left.failedWrites > 0,
            .save where state.left.failedWrites > 0:
            var before = state
            before.left.failedWrites -= 1
            result += try [false, true].compactMap { try failedWrite(before, index, isDone: $0) }
        case .waitForWrite where state.left.ends > 0:
            // It has told its caller, and nothing more can be asked of it: no answer was lost on the way.
            var next = state
            next.left.ends -= 1
            next.processes[index] = changed(process) { $0 = Self.gone }
            result.append(next)
        case .waitForWrite where state.left.nextRefreshes > 0:
            var next = state
            next.left.nextRefreshes -= 1
            var successor = self.process(index, hasKeptLease: true)
            (successor.held, successor.takes, successor.sentAt) = (process.held, process.takes, process.sentAt)
            (successor.unsaved, successor.family) = (process.unsaved, process.family)
            (successor.clockOffset, successor.noted, successor.strays) = (
                process.clockOffset, process.noted, process.strays
            )
            next.processes[index] = processes.number(of: successor)
            result.append(next)
        default: break
        }
        return result
    }

    private mutating func changed(_ process: ModelProcess, _ change: (inout ModelProcess) -> Void) -> Int {
        var process = process
        change(&process)
        return processes.number(of: process)
    }

    private mutating func crash(_ state: ModelState, _ index: Int) -> ModelState {
        var next = state
        next.left.crashes -= 1
        let process = processes[state.processes[index]]
        if let family = process.family, process.granted != nil || process.unsaved != nil {
            next.families[family].lostAnAnswer = true
        }
        // A refusal that it was told is lost with it.
        if case .remember = process.actions.first {
            for family in next.families.indices { next.families[family].refused = nil }
        }
        next.processes[index] = changed(process) { $0 = Self.gone }
        return next
    }

    private static var gone: ModelProcess {
        var process = ModelProcess(machine: RefreshMachine(RefreshRules(leaseDuration: 0)))
        process.isAlive = false
        return process
    }

    /// The server asked to wait or cannot be found, or a person must resolve what it refused again and again.
    private mutating func unsentRequests(
        _ state: ModelState,
        _ index: Int,
        _ action: RefreshMachine.Action
    ) -> [ModelState] {
        var fault = RefreshFault()
        if action == .checkThrottling { fault.needsPerson = true } else { fault.isUnavailable = true }
        return [RefreshFault(), fault].map { fault in
            step(state, index, .failed(fault)) { _, next in next.left.unsentRequests -= 1 }
        }
    }

    private mutating func happeningsToARequest(_ state: ModelState, _ index: Int) -> [ModelState] {
        guard let sent = processes[state.processes[index]].read.flatMap({ records[$0].refreshToken?.secret }),
            let family = Self.family(of: sent)
        else { return [] }
        var result: [ModelState] = []
        if state.left.refusals > 0 {
            var fault = RefreshFault()
            (fault.needsPerson, fault.refusesTheToken) = (true, true)
            let refusal = step(state, index, .failed(fault)) { me, next in
                next.left.refusals -= 1
                next.families[family].refused = Self.number(of: sent)
                me.refused = Self.number(of: sent)
            }
            result.append(refusal)
        }
        if state.left.lostAnswers > 0 {
            var (acted, me) = (state, processes[state.processes[index]])
            _ = arrive(&me, &acted, index)
            me.granted = nil
            acted.processes[index] = processes.number(of: me)
            acted.left.lostAnswers -= 1
            acted.families[family].lostAnAnswer = true
            result.append(step(acted, index, .ambiguous(RefreshFault(), allowsRetry: true)) { _, _ in })
        }
        if state.left.lateTimers > 0 { result += lateTimers(state, index, family) }
        return result
    }

    /// The time of a request is over although its answer is there, or the answer was lost while the process stood still.
    private mutating func lateTimers(_ state: ModelState, _ index: Int, _ family: Int) -> [ModelState] {
        var (acted, me) = (state, processes[state.processes[index]])
        acted.left.lateTimers -= 1
        let answer = arrive(&me, &acted, index)
        acted.processes[index] = processes.number(of: me)
        // What can be read is read first.
        let isRead = mistake != .throwsTheAnswerAway
        let ambiguous = RefreshMachine.Event.ambiguous(RefreshFault(), allowsRetry: false)
        let read = step(acted, index, isRead ? answer : ambiguous) { me, _ in
            if !isRead { me.granted = nil }
        }
        acted.families[family].lostAnAnswer = true
        let lost = step(acted, index, ambiguous) { me, _ in (me.granted, me.wasLate) = (nil, true) }
        return [read, lost]
    }

    /// Lets a lease not be written, or be written all the same, at once or later. With a lock it is not: a lease gets its lock
    /// and its name in one step.
    private mutating func failedLeaseWrites(
        _ state: ModelState,
        _ index: Int,
        _ action: RefreshMachine.Action
    ) -> [ModelState] {
        let process = processes[state.processes[index]]
        let expected = action == .takeLease ? process.leaseRead : process.held
        guard index == olderProcess, state.lease == expected else {
            return [step(state, index, .failed(RefreshFault())) { _, next in next.left.failedLeaseWrites -= 1 }]
        }
        return [false, true].map { isDone in
            var (after, me) = (state, process)
            after.left.failedLeaseWrites -= 1
            let number = lease(&me, after, index)
            (me.held, me.sentAt) = (process.held, process.sentAt)
            if action == .renewLease { me.noted.insert(number) } else { me.strays.insert(number) }
            if mistake == .forgetsTheTake { (me.noted, me.strays) = ([], []) }
            if isDone { after.lease = number } else { me.delayed = DelayedLease(number: number, expected: expected) }
            after.processes[index] = processes.number(of: me)
            return step(after, index, .failed(RefreshFault())) { _, _ in }
        }
    }

    /// Lets the next write of an answer fail, which is done all the same or not; `nil` if the next action is none.
    mutating func failedWrite(_ state: ModelState, _ index: Int, isDone: Bool) throws -> ModelState? {
        let process = processes[state.processes[index]]
        var pending = process.unsaved.map { writes[$0] }
        let action = process.actions.first
        switch action {
        case .commit, .commitRotation:
            pending = try self.pending(process, state, index, rotation: action == .commitRotation)
        case .save: break
        default: return nil
        }
        guard let pending else { return nil }
        var after = state
        if isDone { try write(pending, &after) }
        let unsaved = writes.number(of: pending)
        after.processes[index] = changed(process) { $0.unsaved = unsaved }
        guard action != .save else { return step(after, index, .done) { _, _ in } }
        // In memory it is as if it were written.
        let inMemory = try inMemory(processes[after.processes[index]], state)
        let facts = facts(inMemory, index, now(state, process))
        return step(after, index, .committed(facts)) { me, _ in
            if action != .commitRotation { me.granted = nil }
        }
    }
}
