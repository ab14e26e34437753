// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import Testing

@testable import IdentityBroker

@Suite struct BrokerReplyTests {
    @Test(
        arguments: [
            (BrokerFixtures.tokens201, "at-201", ["User.Read", "openid"], true),
            (BrokerFixtures.tokens252, "at-252", ["User.Read", "openid", "profile"], true),
            (BrokerFixtures.tokens301, "at-301", ["User.Read"], false),
            (BrokerFixtures.tokensHimmelblau, "at-him", ["User.Read"], false),
            (BrokerFixtures.tokensOldHimmelblau, "at-old", ["User.Read"], false),
        ]
    )
    func readsTheTokensOfEachBroker(text: String, token: String, scopes: [String], namesAccount: Bool) throws {
        let tokens = try BrokerFixtures.reply(text).tokens(isSilent: true)
        #expect(tokens.accessToken == token)
        #expect(tokens.scopes == scopes)
        #expect(tokens.idToken == "h.p.s")
        #expect(tokens.expiresOn == Date(timeIntervalSince1970: 1_700_003_600))
        #expect(tokens.homeAccountID == (namesAccount ? BrokerFixtures.homeAccountID : nil))
    }

    @Test func readsTheAccountsAndSendsThemBackUnchanged() throws {
        let accounts = try BrokerFixtures.reply(BrokerFixtures.accounts).accounts()
        let account = try #require(accounts.first)
        #expect(account.account.id.rawValue == BrokerFixtures.homeAccountID)
        #expect(account.account.displayName == "Alice Example")
        #expect(account.account.tenantProfiles.first?.isHomeTenant == true)
        let sent = BrokerMessage.removal(of: account, BrokerFixtures.client).text
        #expect(sent.contains(#""passwordExpiry":0"#) && sent.contains(#""x-unknown":[1.50]"#))
    }

    @Test(
        arguments: [
            (BrokerFixtures.refusal201, AuthenticationError.Code.loginRequired),
            (BrokerFixtures.refusal252, .consentRequired),
            (BrokerFixtures.refusalHimmelblau, .signInExpired),
            (BrokerFixtures.failure(status: 2), .interactionRequired),
            (BrokerFixtures.failure(status: 13), .interactionRequired),
            (BrokerFixtures.failure(status: 3), .network), (BrokerFixtures.failure(status: 4), .network),
            (BrokerFixtures.failure(status: 5), .serverUnavailable),
            (BrokerFixtures.failure(status: 7), .userCancelled),
            (BrokerFixtures.failure(status: 9), .configuration),
            (BrokerFixtures.failure(status: 11), .untrustedAuthority),
            (BrokerFixtures.failure(status: 99), .serverUnavailable),
            (BrokerFixtures.failure(status: 2, "AADSTS53000: Device is not compliant"), .blockedByPolicy),
            (#"{"error":"Not implemented"}"#, .unsupported),
            (#"{"error":{"context":"AADSTS700016: not found","status":9}}"#, .clientNotRegistered),
            (#"{"error":[]}"#, .serverUnavailable),
        ]
    )
    func readsTheErrorsOfEachBroker(text: String, code: AuthenticationError.Code) throws {
        let reply = try BrokerFixtures.reply(text)
        let error = #expect(throws: AuthenticationError.self) { try reply.tokens(isSilent: true) }
        #expect(error?.code == code)
        #expect(error?.correlationID == BrokerFixtures.correlationID)
    }

    @Test func aSignInThatEntraIDRefusesIsNoExpiredOne() throws {
        let error = #expect(throws: AuthenticationError.self) {
            try BrokerFixtures.reply(BrokerFixtures.refusalHimmelblau).tokens(isSilent: false)
        }
        #expect(error?.code == .interactionRequired)
        #expect(error?.serverError?.errorCodes == [50076])
    }

    @Test func showsNoControlCharactersOfABroker() throws {
        let error = #expect(throws: AuthenticationError.self) {
            try BrokerFixtures.reply(#"{"error":"\u001b[31mred\nline"}"#).tokens(isSilent: true)
        }
        #expect(error?.message.hasSuffix("It says: [31mred line") == true)
    }

    @Test(
        arguments: [
            "", "[]", "{", #"{"a":1,"a":2}"#, #"{"brokerTokenResponse":[]}"#, #"{"brokerTokenResponse":{}}"#,
            #"{"brokerTokenResponse":{"accessToken":""}}"#, #"{"brokerTokenResponse":{"accessToken":7}}"#,
            #"{"brokerTokenResponse":{"accessToken":"a b"}}"#, #"{"brokerTokenResponse":{"accessToken":"a\u0000"}}"#,
            #"{"brokerTokenResponse":{"accessToken":"a","accessTokenType":1}}"#,
            #"{"brokerTokenResponse":{"accessToken":"a","accessTokenType":"pop"}}"#,
            #"{"brokerTokenResponse":{"accessToken":"a","grantedScopes":[1]}}"#,
            #"{"brokerTokenResponse":{"accessToken":"a","grantedScopes":{}}}"#,
            #"{"brokerTokenResponse":{"accessToken":"\#(String(repeating: "a", count: 65_537))"}}"#,
            #"{"brokerTokenResponse":{"accessToken":"a","grantedScopes":"\#(String(repeating: "s ", count: 1001))"}}"#,
            #"{"brokerTokenResponse":{"accessToken":"a","grantedScopes":"\#(String(repeating: "s", count: 1025))"}}"#,
            #"{"brokerTokenResponse":{"accessToken":"a","idToken":"\#(String(repeating: "a", count: 65_537))"}}"#,
            #"{"brokerTokenResponse":{"accessToken":"a","account":{"homeAccountId":"x.y"},"clientInfo":"eyJ1aWQiOiJhIiwidXRpZCI6ImIifQ"}}"#,
            String(repeating: "[", count: 1000),
        ]
    )
    func refusesAnAnswerThatIsNone(text: String) throws {
        let error = #expect(throws: AuthenticationError.self) {
            try BrokerFixtures.reply(text).tokens(isSilent: true)
        }
        #expect(error?.code == .malformedResponse)
    }

    @Test(arguments: [("0", true), ("1", true), ("null", true), ("2", false), (#""pop""#, false)])
    func takesABoundTokenWhereItWasAskedFor(type: String, isTaken: Bool) throws {
        let text = #"{"brokerTokenResponse":{"accessToken":"a","accessTokenType":\#(type)}}"#
        let tokens = try? BrokerFixtures.reply(text).tokens(isSilent: true, isBound: true)
        #expect((tokens?.accessToken == "a") == isTaken)
    }

    @Test func refusesAnAnswerWithoutEnd() throws {
        let text = #"{"a":"\#(String(repeating: "a", count: 1 << 20))"}"#
        let error = #expect(throws: AuthenticationError.self) { try BrokerFixtures.reply(text) }
        #expect(error?.code == .malformedResponse)
    }

    @Test(
        arguments: [
            (#"{"accounts":[{}]}"#, 0), (#"{"accounts":[{"homeAccountId":"a|b"},{"homeAccountId":"a.b"}]}"#, 1),
            (#"{"accounts":[{"homeAccountId":"a.b.c"},{"homeAccountId":"A.B"},{"homeAccountId":".b"}]}"#, 1),
            (#"{"accounts":[]}"#, 0),
        ]
    )
    func listsOnlyAccountsWithAnIdentifier(text: String, count: Int) throws {
        #expect(try BrokerFixtures.reply(text).accounts().count == count)
    }

    @Test func anEmptyTextIsNotTold() throws {
        let text = #"{"brokerTokenResponse":{"accessToken":"a","grantedScopes":"","idToken":""}}"#
        let tokens = try BrokerFixtures.reply(text).tokens(isSilent: true)
        #expect(tokens.scopes == nil && tokens.idToken == nil)
        let accounts = try BrokerFixtures.reply(#"{"accounts":[{"homeAccountId":"a.b","environment":""}]}"#).accounts()
        #expect(accounts.first?.account.environment == "login.microsoftonline.com")
    }

    @Test func refusesAccountsWithoutEnd() throws {
        let text = #"{"accounts":[\#(Array(repeating: "{}", count: 101).joined(separator: ","))]}"#
        #expect(throws: AuthenticationError.self) { try BrokerFixtures.reply(text).accounts() }
    }

    @Test(arguments: ["0", "-1", "null", #""soon""#, "1e400"])
    func aTimeThatIsNoneIsUnknown(value: String) throws {
        let text = #"{"brokerTokenResponse":{"accessToken":"a","expiresOn":\#(value)}}"#
        #expect(try BrokerFixtures.reply(text).tokens(isSilent: true).expiresOn == nil)
    }

    @Test func printsNoToken() throws {
        let tokens = try BrokerFixtures.reply(BrokerFixtures.tokens201).tokens(isSilent: true)
        var request = BrokerRequest(
            clientID: "c",
            authority: try .entra(),
            scopes: ["User.Read"],
            correlationID: BrokerFixtures.correlationID
        )
        request.refusedToken = tokens.accessToken
        var dumped = ""
        dump(tokens, to: &dumped)
        dump(request, to: &dumped)
        for text in ["\(tokens) \(request)", String(reflecting: (tokens, request)), dumped] {
            #expect(!text.contains("at-201"))
        }
    }
}
