// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire
import SystemSupport

@testable import IdentityClient

/// Goes through every order in which three processes can take the steps of a refresh, with everything that may happen
/// to them meanwhile.
///
/// The processes are the library's own `RefreshMachine`, and their writes its `PendingWrites`: the explorer is a world
/// for them. It knows no order of steps, only what comes of each.
struct Explorer {
    let mistake: Mistake?
    /// Number 2 lives in another pid namespace and forces its refresh.
    let forcedProcess = 2
    /// Number 1 has no lock with its lease and looks for none, as an older version, or on a store of several hosts.
    let olderProcess = 1
    /// Whether number 1 asks for another scope.
    private var hasAudiences = false
    var records = Interner<AccountCredentials>()
    var leases = Interner<RefreshLease>()
    var writes = Interner<PendingWrites>()
    var processes = Interner<ModelProcess>()
    /// The answers to earlier questions. Many paths lead to the same state.
    private var answers: [Question: RecordFacts] = [:]
    private(set) var violations: [String] = []
    private(set) var stateCount = 0

    private struct Question: Hashable {
        let record: Int
        let index: Int
        let now: Int64
    }

    static let epoch: Int64 = 1_700_000_000
    static let tick: Int64 = 10_000
    static let requestDeadline: Int64 = 8_000
    static let leaseDuration: Int64 = 25_000

    init(_ mistake: Mistake? = nil) {
        self.mistake = mistake
    }

    /// Visits all states that can be reached, or stops at the first violation.
    mutating func explore(_ budget: Budget) throws {
        hasAudiences = budget.audiences > 0
        let begun = (0..<3).map { processes.number(of: process($0)) }
        var first = ModelState(processes: begun, left: budget)
        first.record = records.number(of: try Self.credentials(family: 0, refreshToken: 0))
        var seen: Set<ModelState> = [first]
        var pending = [first]
        while let state = pending.popLast() {
            var nexts: [ModelState] = []
            for index in state.processes.indices where processes[state.processes[index]].isAtWork {
                nexts.append(try step(state, index))
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

    /// A process that begins a refresh.
    func process(_ index: Int, hasKeptLease: Bool = false) -> ModelProcess {
        var rules = RefreshRules(leaseDuration: Self.leaseDuration)
        rules.skipsAccessToken = index == forcedProcess
        rules.isForced = index == forcedProcess
        var process = ModelProcess(machine: RefreshMachine(rules, hasKeptLease: hasKeptLease))
        process.actions = process.machine.handle(.begin)
        return process
    }

    /// The scope that a process asks for.
    func scope(_ index: Int) -> String { hasAudiences && index == 1 ? "write" : "read" }

    /// Returns the facts by which the machine of a process decides.
    mutating func facts(_ record: Int?, _ index: Int, _ now: Int64) -> RecordFacts? {
        guard let record else { return nil }
        let question = Question(record: record, index: index, now: now)
        if let known = answers[question] { return known }
        let need = CredentialRequest(scopes: [Scope(rawValue: scope(index))], skipsAccessToken: index == forcedProcess)
        var facts = RecordFacts(records[record], for: need, refusalKey: "", at: now)
        facts.token = records[record].refreshToken?.secret  // shorter than its digest
        answers[question] = facts
        return facts
    }

    /// Reports violations of the rules that always hold.
    private mutating func check(_ state: ModelState) {
        guard let record = state.record.map({ records[$0] }) else { return }
        let families = [Int(record.signInID)] + record.accessTokens.map { Self.family(of: $0.secret) }
        for family in families.compactMap(\.self) where state.families[family].isSignedOut {
            report("an account came back after it was signed out")
        }
        guard let token = record.refreshToken, let family = Self.family(of: token.secret) else { return }
        if !state.families[family].isRevoked, state.wasSuspended,
            state.processes.allSatisfy({ processes[$0].granted == nil }),
            !state.families[family].lostAnAnswer, Self.number(of: token.secret) != state.families[family].current
        {
            report("an older refresh token took the place of a newer one")
        }
    }

    /// Reports violations of the rules that hold once no process is at work.
    private mutating func checkTheEnd(_ state: ModelState) {
        let all = state.processes.map { processes[$0] }
        guard all.allSatisfy({ !$0.isAtWork }) else { return }
        for process in all where process.isAlive {
            if !process.machine.hasEnded { report("a refresh did not end") }
            if let held = process.held, state.lease == held { report("a lease was not given back") }
            if process.hasReservation { report("a reservation was not given back") }
        }
        if let number = state.lease, !leases[number].isLocked {
            let holder = all[leases[number].holder.pid - 100]
            if holder.isAlive, !holder.strays.contains(number) { report("a lease was left that no process holds") }
        }
        guard let number = state.record else { return }
        let record = records[number]
        guard let family = Int(record.signInID), !state.families[family].isRevoked,
            !state.families[family].lostAnAnswer
        else { return }
        if record.refreshToken?.secret != Self.refreshToken(family, state.families[family].current) {
            report("the refresh token that counts was lost")
        }
    }
}

// The stand-in for a token: a family, which is a sign-in, and a number in it.
extension Explorer {
    static func refreshToken(_ family: Int, _ number: Int) -> String { "refresh.\(family).\(number)" }

    static func family(of secret: String) -> Int? {
        let parts = secret.split(separator: ".")
        return parts.count == 3 ? Int(parts[1]) : nil
    }

    static func number(of secret: String) -> Int? {
        secret.split(separator: ".").last.flatMap { Int($0) }
    }

    /// - Parameter rotates: Whether there is a refresh token in it.
    static func grant(family: Int, number: Int, scope: String = "read", rotates: Bool = true) throws -> TokenGrant {
        let refreshToken = rotates ? #""refresh_token":"\#(refreshToken(family, number))","# : ""
        let json = """
            {"access_token":"access.\(family).\(number)","token_type":"Bearer","expires_in":3600,\
            \(refreshToken)"scope":"\(scope)"}
            """
        return TokenGrant(
            response: try TokenResponse(JSONObject(parsing: Array(json.utf8))),
            requestedScopes: [scope],
            identity: AccountIdentity(accountID: Account.ID(rawValue: "account"), homeAccountID: "account"),
            realm: "realm",
            rule: ScopeRule(ignoresCase: false)
        )
    }

    static func credentials(family: Int, refreshToken number: Int?) throws -> AccountCredentials {
        var credentials = AccountCredentials(
            signInID: String(family),
            partition: "partition",
            environment: "environment",
            clientID: "client",
            accountID: Account.ID(rawValue: "account"),
            homeAccountID: "account"
        )
        credentials.refreshToken = number.map {
            CachedRefreshToken(secret: refreshToken(family, $0), modifiedAt: epoch)
        }
        return credentials
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
