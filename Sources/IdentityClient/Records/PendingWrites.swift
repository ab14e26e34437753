// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// One write of an account's credentials.
package enum AccountWrite: Hashable, Sendable {
    /// A sign-in: the account with a fresh sign-in ID, and the answer to the sign-in.
    case signIn(AccountCredentials, TokenGrant)
    /// The answer to a refresh, which is believed: the credentials that it began with, and the refresh token that was sent.
    case refresh(AccountCredentials, sent: CachedRefreshToken, TokenGrant)
    /// Nothing but the new refresh token of an answer.
    case rotate(AccountCredentials, sent: CachedRefreshToken, secret: String)

    package var isSignIn: Bool {
        if case .signIn = self { true } else { false }
    }

    /// Whether it has another refresh token than the one that was sent, which is spent then.
    var isRotation: Bool {
        switch self {
        case .signIn: false
        case .refresh(_, let sent, let grant): grant.response.refreshToken.map { $0 != sent.secret } ?? false
        case .rotate: true
        }
    }

    /// The credentials in memory where the record can't be read.
    package func credentials(at now: Int64) -> AccountCredentials {
        switch self {
        case .signIn(let fresh, let grant): fresh.applying(grant, at: now, isSignIn: true)
        case .refresh(let base, _, let grant): base.applying(grant, at: now)
        case .rotate(let base, let sent, let secret): base.replacing(sent, with: secret, at: now)
        }
    }
}

/// The writes of one account that are not in the cache yet, as one value.
///
/// It stays small however many refreshes follow each other while nothing can be written. A write that failed may have been
/// done all the same: a keyring may answer too late, and a directory be synced in vain after the record has its name.
package struct PendingWrites: Hashable, Sendable {
    /// A sign-in or a series of refreshes, with the state of the cache when it failed to be written.
    fileprivate struct Entry: Hashable, Sendable {
        enum Change: Hashable, Sendable {
            case signIn(AccountCredentials, TokenGrant, at: Int64)
            case refreshes(RefreshedWrites)
        }

        var change: Change
        /// Whether there was a record to write over. If that is gone later, the account was signed out elsewhere.
        var hadRecord: Bool
        /// The sign-in IDs of the records that were there; `nil` if none could be read.
        var seen: Set<String>?
        /// The refresh token that was there last.
        var found: String?
    }

    /// The effect of the writes on the record in the cache.
    package enum Replay: Hashable, Sendable {
        case write(AccountCredentials)
        /// The record is gone, and stays gone.
        case drop
        /// The record stays: it has the writes already, or belongs to a newer sign-in.
        case done
    }

    private var entries: [Entry]

    /// - Parameter hadRecord: Whether there is a record to write over, as far as is known. A sign-in is written unless it
    ///   has seen a record that went later: a record in memory may be gone already.
    package init(_ write: AccountWrite, hadRecord: Bool, at now: Int64) {
        let change: Entry.Change =
            switch write {
            case .signIn(let fresh, let grant): .signIn(fresh, grant, at: now)
            case .refresh(let base, let sent, let grant):
                .refreshes(RefreshedWrites(of: base.signInID, sent: sent.secret, .grant(grant), at: now))
            case .rotate(let base, let sent, let secret):
                .refreshes(RefreshedWrites(of: base.signInID, sent: sent.secret, .refreshToken(secret), at: now))
            }
        entries = [Entry(change: change, hadRecord: hadRecord && !write.isSignIn)]
    }

    /// Whether there was a record to write the last of them over.
    package var hadRecord: Bool { entries.last?.hadRecord ?? false }

    /// Whether a record that is damaged gives way.
    package var hasSignIn: Bool {
        entries.contains { if case .signIn = $0.change { true } else { false } }
    }

    /// Whether the refresh token in the cache is spent without these writes. It is that of an earlier sign-in, and not
    /// spent, if they begin with a sign-in.
    var isRotation: Bool {
        guard !hasSignIn else { return false }
        return entries.contains { entry in
            if case .refreshes(let refreshes) = entry.change { refreshes.isRotation } else { false }
        }
    }

    /// Remembers the record that the last write is to replace.
    package mutating func meets(_ current: AccountCredentials?) {
        let last = entries.count - 1
        entries[last].hadRecord = current != nil
        entries[last].found = current?.refreshToken?.secret
        entries[last].seen = (entries[last].seen ?? []).union(current.map { [$0.signInID] } ?? [])
    }

    /// Takes over whether there was a record: other writes have failed meanwhile, which this refresh comes after.
    package mutating func follows(_ other: PendingWrites?) {
        guard !hasSignIn else { return }
        entries[entries.count - 1].hadRecord = other?.hadRecord ?? true
    }

    /// The writes with those of `later` after them. Refreshes that follow each other become one.
    package func followed(by later: PendingWrites) -> PendingWrites {
        var result = self
        for var entry in later.entries {
            guard let last = result.entries.last else { return later }
            if case .refreshes(let before) = last.change, case .refreshes(let after) = entry.change,
                let folded = before.followed(by: after, found: entry.found)
            {
                entry.change = .refreshes(folded)
                result.entries.removeLast()
            }
            entry.seen = entry.seen?.union(last.seen ?? []).union([last.signInID])
            result.entries.append(entry)
        }
        return result
    }

    /// Decides what the writes make of `current`, the record that is there.
    ///
    /// A record of a pending sign-in itself stays as it is: the write was done, and other processes may have refreshed since.
    /// The refresh token that the sign-in brought would be a spent one then. The record of a later sign-in stays as well.
    package func replay(onto current: AccountCredentials?) -> Replay {
        var result = current
        for entry in entries {
            if let current, entry.isDone(current) {
                result = current
            } else if current == nil, entry.hadRecord {
                result = nil
            } else {
                result = entry.applied(to: result)
            }
        }
        guard let result else { return .drop }
        return result == current ? .done : .write(result)
    }

    /// The credentials with the writes applied, whatever was found in the cache.
    package func applied(to credentials: AccountCredentials) -> AccountCredentials {
        entries.reduce(credentials) { $1.applied(to: $0) ?? $0 }
    }
}

extension PendingWrites.Replay {
    /// The credentials once this is done to `current`.
    package func credentials(over current: AccountCredentials?) -> AccountCredentials? {
        switch self {
        case .write(let credentials): credentials
        case .drop: nil
        case .done: current
        }
    }
}

extension PendingWrites.Entry {
    fileprivate var signInID: String {
        switch change {
        case .signIn(let fresh, _, _): fresh.signInID
        case .refreshes(let refreshes): refreshes.signInID
        }
    }

    /// Whether `current` is the record of this sign-in, or of one that was written later.
    fileprivate func isDone(_ current: AccountCredentials) -> Bool {
        guard case .signIn(let fresh, _, _) = change else { return false }
        return current.signInID == fresh.signInID || seen?.contains(current.signInID) == false
    }

    fileprivate func applied(to current: AccountCredentials?) -> AccountCredentials? {
        switch change {
        case .signIn(let fresh, let grant, let now):
            var credentials = current ?? fresh
            credentials.signInID = fresh.signInID
            credentials.dpopKey = fresh.dpopKey
            return credentials.applying(grant, at: now, isSignIn: true)
        case .refreshes(let refreshes):
            return current.map { refreshes.applied(to: $0) }
        }
    }
}

/// The writes of one refresh, or of several in a row: from the first refresh token that was sent to the last answer.
private struct RefreshedWrites: Hashable, Sendable {
    enum Answer: Hashable, Sendable {
        case grant(TokenGrant)
        case refreshToken(String)
    }

    struct Step: Hashable, Sendable {
        var answer: Answer
        var at: Int64
    }

    let signInID: String
    /// Refresh tokens that were redeemed on the way: a record with one of them has a spent one. The first stays, and of the
    /// others those that may be stored: the last.
    private var sent: [String]
    private var steps: [Step]

    private static let maximumSent = 16

    init(of signInID: String, sent: String, _ answer: Answer, at now: Int64) {
        self.signInID = signInID
        self.sent = [sent]
        steps = [Step(answer: answer, at: now)]
    }

    /// Whether an answer has another refresh token than the first that was sent.
    var isRotation: Bool {
        steps.contains { step in
            switch step.answer {
            case .grant(let grant): grant.response.refreshToken.map { $0 != sent[0] } ?? false
            case .refreshToken(let secret): secret != sent[0]
            }
        }
    }

    /// The record with the answers in it. The record of another sign-in stays as it is, unless that relies on a refresh token
    /// that is spent; and the refresh token of another process stays.
    func applied(to current: AccountCredentials) -> AccountCredentials {
        let isSpent = current.refreshToken.map { sent.contains($0.secret) } ?? false
        guard current.signInID == signInID || isSpent else { return current }
        return steps.reduce(current) { $1.applied(to: $0, replacesRefreshToken: isSpent) }
    }

    /// The two as one, or `nil` where the later one is of another sign-in.
    ///
    /// - Parameter found: The refresh token that was found in the record, if it could be read.
    func followed(by later: RefreshedWrites, found: String?) -> RefreshedWrites? {
        guard later.signInID == signInID else { return nil }
        var result = self
        for secret in [found].compactMap(\.self).filter(sent.contains) + later.sent {
            if let index = result.sent.dropFirst().firstIndex(of: secret) { result.sent.remove(at: index) }
            if result.sent[0] != secret { result.sent.append(secret) }
        }
        if result.sent.count > Self.maximumSent {
            result.sent.removeSubrange(1...(result.sent.count - Self.maximumSent))
        }
        for step in later.steps { result.add(step) }
        return result
    }

    /// Adds a step, and drops those that are of no use after it.
    private mutating func add(_ step: Step) {
        var step = step
        for index in steps.indices.reversed() {
            guard let merged = steps[index].superseded(by: step) else { continue }
            steps.remove(at: index)
            step = merged
        }
        steps.append(step)
    }
}

extension RefreshedWrites.Step {
    fileprivate func applied(to credentials: AccountCredentials, replacesRefreshToken: Bool) -> AccountCredentials {
        switch answer {
        case .grant(var grant):
            if !replacesRefreshToken { grant.response.refreshToken = nil }
            var result = credentials.applying(grant, at: at)
            // The provider has taken it: what it said of it before is over.
            if replacesRefreshToken { result.refreshToken?.refusals = [] }
            return result
        case .refreshToken(let secret):
            guard replacesRefreshToken, let token = credentials.refreshToken else { return credentials }
            return credentials.replacing(token, with: secret, at: at)
        }
    }

    /// `later` with what it does not say itself, where nothing else is left of this one; `nil` where this one stays.
    fileprivate func superseded(by later: RefreshedWrites.Step) -> RefreshedWrites.Step? {
        switch (answer, later.answer) {
        case (.refreshToken, .refreshToken): return later
        case (.refreshToken, .grant(let new)): return new.response.refreshToken == nil ? nil : later
        case (.grant, .refreshToken): return nil
        case (.grant(let old), .grant(var new)):
            let isSame =
                old.realm == new.realm && old.authorityTenant == new.authorityTenant
                && old.requestedScopes == new.requestedScopes && old.grantedScopes == new.grantedScopes
            guard isSame, old.response.refreshToken == nil || new.response.refreshToken != nil else { return nil }
            new.profile = new.profile ?? old.profile
            new.response.familyID = new.response.familyID ?? old.response.familyID
            return RefreshedWrites.Step(answer: .grant(new), at: later.at)
        }
    }
}
