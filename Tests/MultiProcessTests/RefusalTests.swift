// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityCacheTesting
import IdentityClient
import IdentityTesting
import Testing

/// The effect of a refusal on two processes with the same sign-in (T12, T13; msal-cache.md §3.4).
@Suite(.serialized, .timeLimit(.minutes(3)))
struct RefusalTests {
    static let passing: [(suberror: String?, code: AuthenticationError.Code)] = [
        (nil, .signInExpired), ("something_else", .signInExpired), ("token_expired", .signInExpired),
        ("basic_action", .loginRequired), ("additional_action", .loginRequired), ("message_only", .loginRequired),
        ("consent_required", .consentRequired), ("user_password_expired", .loginRequired),
        ("protection_policy_required", .blockedByPolicy), ("client_mismatch", .clientNotRegistered),
        ("device_authentication_failed", .loginRequired),
    ]
    static let final = ["bad_token", "user_account_deleted"]

    /// The same refresh token works again once the person has done the required step, so both processes keep it.
    @Test(arguments: passing)
    func keepsTheRefreshToken(_ suberror: String?, _ code: AuthenticationError.Code) async throws {
        let setup = try await SharedCacheSetup()
        let stored = try await setup.storedRefreshTokens()
        let workers = [try await setup.worker { $0.rounds = 2 }, try await setup.worker { $0.rounds = 2 }]
        setup.provider.failAlways(.token, with: Self.refusal(suberror))
        for worker in workers {
            worker.go()
            #expect(try #require(try await worker.report()).error == code.rawValue)
            #expect(try await setup.storedRefreshTokens() == stored && stored.count == 1)
        }
        // The second process reads in the record that the token itself was refused.
        let isRemembered = code == .signInExpired
        #expect(setup.sentRefreshTokens == (isRemembered ? stored : stored + stored))
        setup.provider.failAlways(.token, with: nil)
        let sent = setup.sentRefreshTokens.count
        if isRemembered {
            // A minute later.
            #expect(try #require(try await setup.acquire { $0.clockOffset = 61 }).error == nil)
        }
        for worker in workers {
            worker.go()
            #expect(try #require(try await worker.report(1)).error == nil)
        }
        #expect(setup.sentRefreshTokens.count == sent + 1)
    }

    /// A shell prompt that asks every second, each time in a new process.
    @Test(arguments: Store.chosen)
    func sendsARefusedRefreshTokenOnce(_ store: Store) async throws {
        let setup = try await SharedCacheSetup(store)
        setup.provider.failAlways(.token, with: Self.refusal(nil))
        for count in 0..<5 {
            let report = try #require(try await setup.acquire())
            #expect(report.error == "interaction_required.sign_in_expired")
            #expect((1...60).contains(report.retryAfter ?? 0) == (count > 0))
        }
        #expect(setup.sentRefreshTokens.count == 1)
        for _ in 0..<2 { _ = try await setup.refresh() }
        #expect(setup.sentRefreshTokens.count == 3, "Who forces it is heard.")
        setup.provider.failAlways(.token, with: nil)
        try await setup.signIn(.alice)
        #expect(try #require(try await setup.acquire()).error == nil)
        #expect(try #require(try await setup.refresh()).error == nil)
    }

    /// A token that the provider will never accept again is removed, so that the process that waited does not send it.
    @Test(arguments: Store.chosen, final)
    func removesTheRefreshTokenForBoth(_ store: Store, _ suberror: String) async throws {
        let setup = try await SharedCacheSetup(store)
        let workers = [try await setup.worker { $0.rounds = 2 }, try await setup.worker { $0.rounds = 2 }]
        let gate = TestGate()
        setup.provider.failAlways(.token, with: .held(by: gate, then: Self.refusal(suberror)))
        workers[0].go()
        try await setup.provider.waitForRequest(.token)
        workers[1].go()
        gate.open()
        #expect(try #require(try await workers[0].report()).error == "interaction_required.sign_in_expired")
        let waiter = try #require(try await workers[1].report())
        #expect(waiter.error == "interaction_required.no_tokens", "\(waiter)")
        #expect(setup.sentRefreshTokens.count == 1)
        #expect(try await setup.storedRefreshTokens().isEmpty)
        #expect(try await setup.application().allAccounts().count == 1, "whom to ask to sign in again")
        setup.provider.failAlways(.token, with: nil)
        let again = try await setup.signIn(.alice)
        for worker in workers {
            worker.go()
            #expect(try #require(try await worker.report(1)).token == again.accessToken)
        }
    }

    /// A refusal applies to the refresh token that was sent, not to a token that a sign-in has stored since.
    @Test(arguments: final)
    func leavesANewerRefreshTokenAlone(_ suberror: String) async throws {
        let setup = try await SharedCacheSetup()
        let gate = TestGate()
        setup.provider.failNext(.token, with: .held(by: gate, then: Self.refusal(suberror)))
        let refresher = try await setup.worker()
        refresher.go()
        try await setup.provider.waitForRequest(.token)
        let newer = try await setup.signIn(.alice)
        gate.open()
        #expect(try #require(try await refresher.report()).token == newer.accessToken)
        #expect(try await setup.storedRefreshTokens().count == 1)
        #expect(try #require(try await setup.refresh()).error == nil)
    }

    /// Programs that ask in a tight loop. If the refusal does not concern the token, each program sends five requests
    /// for five hundred calls. If the token is refused or gone, it sends none.
    @Test(arguments: ["basic_action", nil, "bad_token"])
    func sendsFiveOfFiveHundredRequests(_ suberror: String?) async throws {
        let setup = try await SharedCacheSetup()
        let workers = [try await setup.worker { $0.times = 500 }, try await setup.worker { $0.times = 500 }]
        setup.provider.failAlways(.token, with: Self.refusal(suberror))
        for worker in workers { worker.go() }
        for worker in workers {
            let report = try #require(try await worker.report())
            #expect(report.failures == 500)
            if suberror == "bad_token" {
                #expect(report.error == "interaction_required.no_tokens")
            } else {
                let name = suberror == nil ? "sign_in_expired" : "login"
                #expect(report.error == "interaction_required.\(name)")
                #expect((1...60).contains(try #require(report.retryAfter)))
            }
        }
        #expect(setup.sentRefreshTokens.count == (suberror == "basic_action" ? 10 : 1))
    }

    private static func refusal(_ suberror: String?) -> TestIdentityProvider.Fault {
        let member = suberror.map { #","suberror":"\#($0)""# } ?? ""
        return .answer(
            status: 400,
            headers: [("Content-Type", "application/json")],
            body: #"{"error":"invalid_grant"\#(member)}"#
        )
    }
}

extension SharedCacheSetup {
    /// Returns the refresh tokens in the cache, in no order.
    fileprivate func storedRefreshTokens() async throws -> [String] {
        try await cache.records(of: .account, in: group).values.compactMap { record in
            try AccountCredentials(decoding: record.bytes) { _ in ScopeRule(ignoresCase: false) }.refreshToken?.secret
        }
    }
}
