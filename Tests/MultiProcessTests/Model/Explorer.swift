// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

@testable import IdentityClient

/// Goes through every order in which three processes can take the steps of a refresh, with everything that may happen
/// to them meanwhile.
///
/// The steps are those of `RefreshFlow`, `RefreshLeaseHolder` and `CredentialStore`, one for each access to something
/// shared; what is decided in them, the library's own functions decide.
struct Explorer {
    let bug: PlantedBug?
    /// Number 2 lives in another pid namespace and forces its refresh.
    let forcedProcess = 2
    var records = Interner<AccountCredentials>()
    var leases = Interner<RefreshLease>()
    /// What was asked before: a state is reached in many ways.
    var answers: [Question: CredentialSelection] = [:]
    private(set) var violations: [String] = []
    private(set) var stateCount = 0

    struct Question: Hashable {
        let record: Int
        let isForced: Bool
        let now: Int64
    }

    static let epoch: Int64 = 1_700_000_000
    static let tick: Int64 = 10_000
    static let requestDeadline: Int64 = 8_000
    static let leaseDuration: Int64 = 25_000

    init(bug: PlantedBug? = nil) {
        self.bug = bug
    }

    /// Visits all states that can be reached, or stops at the first violation.
    mutating func explore(_ budget: Budget) throws {
        var first = ModelState(processes: Array(repeating: ModelProcess(), count: 3), left: budget)
        first.record = records.number(of: try Self.credentials(family: 0, refreshToken: 0))
        var seen: Set<ModelState> = [first]
        var pending = [first]
        while let state = pending.popLast() {
            var nexts: [ModelState] = []
            for index in state.processes.indices where state.processes[index].isAlive {
                if let next = try step(state, index) { nexts.append(next) }
            }
            checkTheEnd(state)
            nexts += try happenings(state)
            for next in nexts where seen.insert(next).inserted {
                check(next)
                guard violations.isEmpty else {
                    stateCount = seen.count
                    return
                }
                pending.append(next)
            }
        }
        stateCount = seen.count
    }

    mutating func report(_ violation: String) {
        violations.append(violation)
    }

    /// What must hold always.
    private mutating func check(_ state: ModelState) {
        guard let record = state.record.map({ records[$0] }) else { return }
        let families = [Int(record.incarnation)] + record.accessTokens.map { Self.family(of: $0.secret) }
        for family in families.compactMap(\.self) where state.families[family].isSignedOut {
            report("an account came back after it was signed out")
        }
        guard let token = record.refreshToken, let family = Self.family(of: token.secret) else { return }
        if !state.families[family].isRevoked, state.wasSuspended, state.processes.allSatisfy({ $0.granted == nil }),
            !state.families[family].lostAnAnswer, Self.number(of: token.secret) != state.families[family].current
        {
            report("an older refresh token took the place of a newer one")
        }
    }

    /// What must hold when nothing is under way any more.
    private mutating func checkTheEnd(_ state: ModelState) {
        guard state.processes.allSatisfy({ $0.step == .ended || !$0.isAlive }), let number = state.record else {
            return
        }
        let record = records[number]
        guard let family = Int(record.incarnation), !state.families[family].isRevoked,
            !state.families[family].lostAnAnswer
        else { return }
        if record.refreshToken?.secret != Self.refreshToken(family, state.families[family].current) {
            report("the refresh token that counts was lost")
        }
    }
}

// What stands in for tokens: a family, which is a sign-in, and a number in it.
extension Explorer {
    static func refreshToken(_ family: Int, _ number: Int) -> String { "refresh.\(family).\(number)" }

    static func family(of secret: String) -> Int? {
        let parts = secret.split(separator: ".")
        return parts.count == 3 ? Int(parts[1]) : nil
    }

    static func number(of secret: String) -> Int? {
        secret.split(separator: ".").last.flatMap { Int($0) }
    }

    static func grant(family: Int, number: Int) throws -> TokenGrant {
        let json = """
            {"access_token":"access.\(family).\(number)","token_type":"Bearer","expires_in":3600,\
            "refresh_token":"\(refreshToken(family, number))","scope":"read"}
            """
        return TokenGrant(
            response: try TokenResponse(JSONObject(parsing: Array(json.utf8))),
            requestedScopes: ["read"],
            identity: AccountIdentity(accountID: Account.ID(rawValue: "account"), homeAccountID: "account"),
            realm: "realm",
            rule: ScopeRule(ignoresCase: false)
        )
    }

    /// What a sign-in writes; `SignInCommit` does the same.
    static func commit(_ signIn: ModelSignIn) throws -> UnsavedCommit {
        let fresh = try credentials(family: signIn.family, refreshToken: 0)
        let grant = try grant(family: signIn.family, number: 0)
        let now = epoch + Int64(signIn.tick) * tick / 1000
        let key = CacheKey(group: .application("client"), kind: .account, name: "account")
        let id = RecordID(partition: fresh.partition, accountID: fresh.accountID.rawValue)
        // The process has seen the account before.
        var memory = CredentialStore.State()
        let entry = CredentialStore.Entry(.init(id: id, key: key))
        entry.snapshot = CredentialSnapshot(key: key, record: nil, credentials: fresh)
        memory.entries[id] = entry
        var attempt = CommitAttempt(
            id,
            key: key,
            isSignIn: true,
            in: memory,
            change: .other { current in
                var credentials = current ?? fresh
                credentials.incarnation = fresh.incarnation
                return credentials.applying(grant, at: now, isSignIn: true)
            }
        )
        if !signIn.isBlind {
            attempt.meets(try signIn.overwrites.flatMap(Int.init).map { try credentials(family: $0, refreshToken: 0) })
        }
        return attempt.unsaved(
            after: nil,
            fallback: fresh.applying(grant, at: now, isSignIn: true),
            failure: AuthenticationError(.cache, "The write failed."),
            nextAttempt: nil
        )
    }

    static func credentials(family: Int, refreshToken number: Int) throws -> AccountCredentials {
        var credentials = AccountCredentials(
            incarnation: String(family),
            partition: "partition",
            environment: "environment",
            clientID: "client",
            accountID: Account.ID(rawValue: "account"),
            homeAccountID: "account"
        )
        credentials.refreshToken = CachedRefreshToken(secret: refreshToken(family, number), modifiedAt: epoch)
        return credentials
    }

    /// The account is there, and a token for it is asked for.
    func request(_ index: Int) -> CredentialRequest {
        CredentialRequest(scopes: ["read"], skipsAccessToken: index == forcedProcess)
    }

    static func identity(_ index: Int) -> ProcessIdentity {
        ProcessIdentity(
            bootID: "boot",
            pidNamespace: index == 2 ? "container" : "host",
            pid: 100 + index,
            startTime: "1"
        )
    }
}
