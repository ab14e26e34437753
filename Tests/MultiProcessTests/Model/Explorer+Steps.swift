// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

@testable import IdentityClient

// The steps of the protocol.
extension Explorer {
    /// What `index` does next; `nil` where it has ended, or nothing would change.
    mutating func step(_ state: ModelState, _ index: Int) throws -> ModelState? {
        var next = state
        var me = state.processes[index]
        let now = Self.epoch + Int64(state.tick) * Self.tick / 1000 + me.clockOffset
        switch me.step {
        case .start:
            me.snapshot = state.record
            if isToSend(state.record, index, now) { me.step = .readLease } else { me.end() }
        case .readLease: readLease(&me, state, index)
        case .settle:
            if bug == .noReadUnderTheLease {
                me.step = .take
            } else if index != forcedProcess, case .valid = selection(state.record, index, now) {
                me.end()
            } else {
                me.step = .take
            }
        case .take:
            if state.lease == me.leaseRead {
                next.lease = lease(&me, state, index)
                me.step = .readAgain
            } else {
                me.step = .readLease
            }
        case .readAgain:
            if bug != .noReadUnderTheLease { me.snapshot = state.record }
            me.step = isToSend(me.snapshot, index, now) ? .send : .release
        case .send: send(&me, &next, index)
        case .arrive: arrive(&me, &next, index)
        case .remember: remember(&me, &next, now)
        case .commit: try commit(&me, state, now)
        case .write:
            if state.record == me.base {
                next.record = me.snapshot
                me.granted = nil
                me.step = .release
            } else {
                me.step = .commit
            }
        case .keep: keep(&me, &next, index)
        case .release:
            if state.lease == me.held { next.lease = nil }
            me.end()
        case .ended: return nil
        }
        next.processes[index] = me
        return next == state ? nil : next
    }

    /// Whether the refresh token is to be redeemed; not one that was refused, unless that is forced.
    private mutating func isToSend(_ record: Int?, _ index: Int, _ now: Int64) -> Bool {
        guard case .refreshable(let token) = selection(record, index, now) else { return false }
        return index == forcedProcess || token.refusedFor("", at: now) == nil
    }

    /// Remembers with the record that the refresh token was refused.
    private mutating func remember(_ me: inout ModelProcess, _ next: inout ModelState, _ now: Int64) {
        me.step = .release
        guard bug != .forgetsTheRefusal, let sent = me.snapshot.flatMap({ records[$0].refreshToken }),
            let number = next.record, let token = records[number].refreshToken, token.secret == sent.secret
        else { return }
        var credentials = records[number]
        credentials.refreshToken = token.refused("", at: now)
        next.record = records.number(of: credentials)
    }

    private mutating func selection(_ record: Int?, _ index: Int, _ now: Int64) -> CredentialSelection {
        guard let record else { return .unavailable }
        let question = Question(record: record, isForced: index == forcedProcess, now: now)
        if let known = answers[question] { return known }
        let answer = records[record].selection(for: request(index), at: now)
        answers[question] = answer
        return answer
    }

    private func readLease(_ me: inout ModelProcess, _ state: ModelState, _ index: Int) {
        me.leaseRead = state.lease
        guard let number = state.lease else {
            me.step = me.seenLease == nil ? .take : .settle
            return
        }
        if me.seenLease != number {
            me.seenLease = number
            me.seenSince = state.tick
        }
        let lease = leases[number]
        let identity = Self.identity(index)
        let boot = Int64(state.tick) * Self.tick
        let observation = RefreshLease.Observation(
            observer: identity,
            bootTime: bug == .takeoverByWallClock ? boot + me.clockOffset * 1000 : boot,
            seenFor: Int64(state.tick - me.seenSince) * Self.tick,
            holderIsDead: identity.sees(lease.holder) && !state.processes[lease.holder.pid - 100].isAlive
        )
        if lease.isOver(for: observation) { me.step = .settle }
    }

    private mutating func lease(_ me: inout ModelProcess, _ state: ModelState, _ index: Int) -> Int {
        me.takes += 1
        let lease = RefreshLease(
            nonce: "\(index).\(me.takes)",
            duration: Self.leaseDuration,
            holder: Self.identity(index),
            deadline: Int64(state.tick) * Self.tick + Self.leaseDuration
        )
        me.held = leases.number(of: lease)
        return leases.number(of: lease)
    }

    /// Renews a lease that would not outlast the request, and sends.
    private mutating func send(_ me: inout ModelProcess, _ next: inout ModelState, _ index: Int) {
        guard renews(&me, &next, index) else { return me.end() }  // somebody took over: busy
        me.sentAt = next.tick
        me.step = .arrive
    }

    /// After a write that failed: renews the lease, and tries again. Who lost it does so, too.
    private mutating func keep(_ me: inout ModelProcess, _ next: inout ModelState, _ index: Int) {
        _ = renews(&me, &next, index)
        me.sentAt = next.tick
        me.step = .commit
    }

    /// `false` where somebody took the lease over.
    private mutating func renews(_ me: inout ModelProcess, _ next: inout ModelState, _ index: Int) -> Bool {
        guard let held = me.held else { return false }
        guard leases[held].deadline - Int64(next.tick) * Self.tick < Self.requestDeadline + 2000 else { return true }
        guard next.lease == held else { return false }
        next.lease = lease(&me, next, index)
        return true
    }

    /// The provider acts: it rotates, answers once more where the newest token is not yet used, or takes it for theft.
    private mutating func arrive(_ me: inout ModelProcess, _ next: inout ModelState, _ index: Int) {
        guard let sent = me.snapshot.flatMap({ records[$0].refreshToken?.secret }), let family = Self.family(of: sent),
            let number = Self.number(of: sent)
        else { return }
        if next.families[family].refused == number, index != forcedProcess {
            report("a refresh token was sent again although it had just been refused")
        }
        let current = next.families[family].current
        if number == current {
            next.families[family].current += 1
        } else {
            if !next.wasSuspended, !next.families[family].lostAnAnswer, !next.families[family].isSignedOut {
                report("a refresh token was sent twice")
            }
            if number != current - 1 { next.families[family].isRevoked = true }
        }
        guard !next.families[family].isRevoked else {
            me.step = .release
            return
        }
        me.granted = next.families[family].current
        me.step = .commit
    }

    /// Reads, and decides what is to be written.
    private mutating func commit(_ me: inout ModelProcess, _ state: ModelState, _ now: Int64) throws {
        guard let number = me.snapshot, let granted = me.granted else { return }
        // After a write that was refused, the snapshot is what should have been written; what was sent stays known.
        let base = me.sent.map { records[$0] } ?? records[number]
        guard let sent = base.refreshToken, let family = Self.family(of: sent.secret) else { return }
        let grant = try Self.grant(family: family, number: granted)
        me.sent = me.sent ?? number
        me.base = state.record
        let current = state.record.map { records[$0] }
        if bug == .ignoresTheIncarnation {
            me.snapshot = records.number(of: (current ?? base).applying(grant, replacing: sent, at: now))
        } else if let current, current.continues(base, from: sent) {
            let isBlind = bug == .commitWithoutComparing
            let merged = isBlind ? current.applying(grant, at: now) : current.applying(grant, replacing: sent, at: now)
            me.snapshot = records.number(of: merged)
        } else {
            me.granted = nil  // revoked and dropped
            me.sent = nil
            me.base = nil
            me.step = .release
            guard current != nil else { return }
            if bug == .takesASignInForASignOut { report("an account counted as removed although it is signed in") }
            if !me.isSuperseded { me.step = .readAgain }
            me.isSuperseded = true
            return
        }
        me.step = .write
    }
}

// What happens beside the protocol.
extension Explorer {
    mutating func happenings(_ state: ModelState) throws -> [ModelState] {
        var result = try happeningsToProcesses(state)
        if state.tick < state.left.ticks,
            !state.processes.contains(where: { $0.isInAHurry && $0.sentAt < state.tick })
        {
            var next = state
            next.tick += 1
            result.append(next)
        }
        if state.left.signOuts > 0, let number = state.record, let family = Int(records[number].incarnation) {
            var next = state
            next.left.signOuts -= 1
            next.record = nil
            for older in 0...family { next.families[older].isSignedOut = true }
            result.append(next)
        }
        for isUnsure in [false, true] where (isUnsure ? state.left.unsureSignIns : state.left.signIns) > 0 {
            var next = state
            if isUnsure { next.left.unsureSignIns -= 1 } else { next.left.signIns -= 1 }
            let there = state.record.map { records[$0].incarnation }
            let signIn = ModelSignIn(family: state.families.count, overwrites: there, tick: state.tick)
            if isUnsure { next.unsaved = signIn }
            next.families.append(ModelFamily())
            let written = try Self.commit(signIn).change(state.record.map { records[$0] })
            next.record = written.map { records.number(of: $0) }
            result.append(next)
        }
        if state.left.blindSignIns > 0, state.unsaved == nil {
            var next = state
            next.left.blindSignIns -= 1
            next.unsaved = ModelSignIn(family: state.families.count, tick: state.tick, isBlind: true)
            next.families.append(ModelFamily())
            result.append(next)
        }
        if let signIn = state.unsaved {
            var next = state
            next.unsaved = nil
            let (commit, current) = (try Self.commit(signIn), state.record.map { records[$0] })
            var written = try bug == .signsInAgain ? commit.change(current) : commit.applied(to: current)
            if bug == .guessesTheRecord, signIn.isBlind, current == nil { written = nil }
            if written == nil, !state.families[signIn.family].isSignedOut { report("a sign-in was dropped") }
            next.record = written.map { records.number(of: $0) }
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
        return result
    }

    private mutating func happeningsToProcesses(_ state: ModelState) throws -> [ModelState] {
        var result: [ModelState] = []
        for index in state.processes.indices {
            let process = state.processes[index]
            guard process.isAlive, process.step != .ended else { continue }
            if state.left.crashes > 0 {
                var next = state
                next.left.crashes -= 1
                if process.granted != nil, let sent = process.sent ?? process.snapshot,
                    let family = records[sent].refreshToken.flatMap({ Self.family(of: $0.secret) })
                {
                    next.families[family].lostAnAnswer = true
                }
                // What it was told is lost with it.
                if process.step == .remember {
                    for family in next.families.indices { next.families[family].refused = nil }
                }
                next.processes[index].isAlive = false
                next.processes[index].end()
                result.append(next)
            }
            for jump in [-86_400, 86_400] as [Int64] where state.left.clockJumps > 0 {
                var next = state
                next.left.clockJumps -= 1
                next.processes[index].clockOffset += jump
                result.append(next)
            }
            for isDone in [false, true] where state.left.failedWrites > 0 && process.step == .write {
                // What somebody else has changed is not written.
                if isDone, state.record != process.base { continue }
                var next = state
                next.left.failedWrites -= 1
                if isDone { next.record = process.snapshot }
                if bug == .noLeaseKept {
                    if state.lease == process.held { next.lease = nil }
                    next.processes[index].end()
                } else {
                    next.processes[index].step = .keep
                }
                result.append(next)
            }
            if state.left.refusals > 0, process.step == .arrive,
                let sent = process.snapshot.flatMap({ records[$0].refreshToken?.secret }),
                let family = Self.family(of: sent)
            {
                var next = state
                next.left.refusals -= 1
                next.families[family].refused = Self.number(of: sent)
                next.processes[index].step = .remember
                result.append(next)
            }
            if state.left.suspensions > 0, process.isInAHurry {
                var next = state
                next.left.suspensions -= 1
                next.wasSuspended = true
                next.processes[index].isSuspended = true
                result.append(next)
            }
        }
        return result
    }
}
