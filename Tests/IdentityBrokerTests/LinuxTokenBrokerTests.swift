// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import OAuthWire
import Testing

@testable import IdentityBroker

@Suite(.enabled(if: startsBuses, "run Scripts/test-keyring"), .timeLimit(.minutes(1)))
struct LinuxTokenBrokerTests {
    private static let clientID = ClientID(rawValue: BrokerFixtures.client.clientID)

    private static func request(for id: String? = BrokerFixtures.homeAccountID) throws -> BrokerRequest {
        var request = BrokerRequest(
            clientID: clientID,
            authority: try .entra(.organizations),
            scopes: ["User.Read"],
            correlationID: BrokerFixtures.correlationID
        )
        request.account = id.map { Account(id: Account.ID(rawValue: $0), environment: "login.microsoftonline.com") }
        return request
    }

    private static func failure(_ work: () async throws -> some Sendable) async -> AuthenticationError? {
        await #expect(throws: AuthenticationError.self) { try await work() }
    }

    @Test(arguments: [BrokerFixtures.tokens201, BrokerFixtures.tokens301, BrokerFixtures.tokensHimmelblau])
    func acquiresTokensSilentlyForAnAccountOfTheBroker(answer: String) async throws {
        let session = try BrokerSession(["getAccounts": BrokerFixtures.accounts, "acquireTokenSilently": answer])
        let tokens = try await session.broker().acquireTokenSilently(Self.request())
        #expect(tokens.accessToken.hasPrefix("at-"))
        let calls = try session.calls()
        #expect(calls.map(\.[0]) == ["getAccounts", "acquireTokenSilently"])
        #expect(
            calls[1][2...4] == [
                "com.microsoft.identity.Broker1", "0.0", BrokerFixtures.correlationID.uuidString.lowercased(),
            ]
        )
        #expect(calls[1][5].contains(#""x-unknown":[1.50]"#))
        #expect(calls[1][6].hasPrefix(":"), "to the owner of the name alone")
    }

    /// Microsoft's type for a bound token, and Himmelblau's.
    @Test(arguments: [1, 0])
    func acquiresTokensBoundToTheProgramsKey(type: Int) async throws {
        let answer = BrokerFixtures.tokens301.replacing("at-301", with: "@bound")
            .replacing(#""accessTokenType":0"#, with: #""accessTokenType":\#(type)"#)
        let session = try BrokerSession([
            "getAccounts": BrokerFixtures.accounts, "acquireTokenSilently": answer, "acquireTokenInteractively": answer,
        ])
        let broker = session.broker()
        var request = try Self.request()
        request.keyID = "k1"
        for tokens in [
            try await broker.acquireTokenSilently(request), try await broker.acquireTokenInteractively(request),
        ] {
            #expect(try JSONWebToken(compact: tokens.accessToken).claims.object("cnf")?.string("kid") == "k1")
        }
    }

    @Test func tellsAnAccountThatTheBrokerDoesNotHave() async throws {
        let session = try BrokerSession(["getAccounts": #"{"accounts":[]}"#])
        let error = await Self.failure { try await session.broker().acquireTokenSilently(Self.request()) }
        #expect(error?.code == .noTokensFound)
    }

    /// An answer without an account, whose ID token is about Alice.
    private static var answerAboutAlice: String {
        let header = Base64URL.encode(Array(#"{"alg":"RS256"}"#.utf8))
        let parts = BrokerFixtures.homeAccountID.split(separator: ".")
        let claims = Base64URL.encode(Array(#"{"oid":"\#(parts[0])","tid":"\#(parts[1])"}"#.utf8))
        return BrokerFixtures.tokens301.replacing("h.p.s", with: "\(header).\(claims).AAAA")
    }

    @Test func asksThePersonAndFindsTheAccountAfterwards() async throws {
        let answer = Self.answerAboutAlice
        let session = try BrokerSession(["getAccounts": BrokerFixtures.accounts, "acquireTokenInteractively": answer])
        let tokens = try await session.broker().acquireTokenInteractively(Self.request(for: nil))
        #expect(tokens.homeAccountID == BrokerFixtures.homeAccountID)
        #expect(try session.calls().map(\.[0]) == ["acquireTokenInteractively", "getAccounts"])
    }

    private static let others = BrokerFixtures.accounts
        .replacing("aaaaaaaa-0000", with: "ffffffff-0000").replacing("alice@", with: "bob@")

    @Test func actsForTheWantedAccountOnly() async throws {
        let both = BrokerFixtures.accounts.replacing(
            #"{"accounts":["#,
            with: #"{"accounts":[\#(Self.others.dropFirst(13).dropLast(2)),"#
        )
        let session = try BrokerSession([
            "getAccounts": both, "acquireTokenSilently": BrokerFixtures.tokens301, "removeAccount": "{}",
        ])
        _ = try await session.broker().acquireTokenSilently(Self.request())
        try await session.broker().remove(try #require(try Self.request().account), for: Self.clientID)
        for call in try session.calls() where call[0] != "getAccounts" {
            #expect(call[5].contains("alice@") && !call[5].contains("bob@"), "\(call[0])")
        }
    }

    @Test func doesNothingForAnAccountThatTheBrokerDoesNotHave() async throws {
        let answer = Self.answerAboutAlice
        let session = try BrokerSession(["getAccounts": Self.others, "acquireTokenInteractively": answer])
        try await session.broker().remove(try #require(try Self.request().account), for: Self.clientID)
        #expect(try await session.broker().acquireTokenInteractively(Self.request(for: nil)).homeAccountID == nil)
        #expect(try session.calls().map(\.[0]) == ["getAccounts", "acquireTokenInteractively", "getAccounts"])
    }

    @Test func asksNothingMoreOfABrokerThatGaveItsNameUp() async throws {
        let session = try BrokerSession(["getAccounts": "@rename", "acquireTokenInteractively": "{}"])
        let error = await Self.failure { try await session.broker().acquireTokenInteractively(Self.request()) }
        #expect(error?.code == .serverUnavailable)
        #expect(try session.calls().map(\.[0]) == ["getAccounts"])
    }

    @Test func endsWithTheBus() async throws {
        let session = try BrokerSession(["acquireTokenInteractively": "@never"])
        let request = try Self.request(for: nil)
        let task = Task { try await session.broker().acquireTokenInteractively(request) }
        try await session.waitForCall("acquireTokenInteractively")
        session.end()
        #expect(await Self.failure { try await task.value }?.code == .serverUnavailable)
    }

    @Test func givesUpOnABusThatDoesNotAnswer() async throws {
        let directory = "/tmp/identity-broker-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let listener = try SilentListener(path: "\(directory)/bus")
        defer { withExtendedLifetime(listener) {} }
        var settings = BrokerSettings()
        settings.busAddress = "unix:path=\(directory)/bus"
        settings.patience = .milliseconds(200)
        let broker = LinuxTokenBroker(settings)
        #expect(await Self.failure { try await broker.accounts(for: Self.clientID) }?.code == .serverUnavailable)
    }

    @Test func cancelsTheDialogOfACancelledTask() async throws {
        let session = try BrokerSession(["acquireTokenInteractively": "@cancel", "cancelInteractiveFlow": "{}"])
        let request = try Self.request(for: nil)
        let task = Task { try await session.broker().acquireTokenInteractively(request) }
        try await session.waitForCall("acquireTokenInteractively")
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        let call = try await session.waitForCall("cancelInteractiveFlow")
        #expect(call[4] == BrokerFixtures.correlationID.uuidString.lowercased())
    }

    @Test(
        arguments: [
            ("@drop", AuthenticationError.Code.serverUnavailable), ("@rename", .serverUnavailable),
            ("@number", .malformedResponse), ("@large", .malformedResponse), ("nonsense", .malformedResponse),
        ]
    )
    func survivesABrokerThatMisbehaves(answer: String, code: AuthenticationError.Code) async throws {
        let session = try BrokerSession(["getAccounts": answer, "acquireTokenInteractively": answer])
        let broker = session.broker()
        #expect(await Self.failure { try await broker.acquireTokenSilently(Self.request()) }?.code == code)
        #expect(await Self.failure { try await broker.acquireTokenInteractively(Self.request(for: nil)) }?.code == code)
    }

    @Test func givesUpOnABrokerThatDoesNotAnswer() async throws {
        let session = try BrokerSession(["getAccounts": "@never"])
        let broker = session.broker(patience: .milliseconds(500))
        #expect(await Self.failure { try await broker.accounts(for: Self.clientID) }?.code == .serverUnavailable)
    }

    @Test func tellsThatThereIsNoBroker() async throws {
        let session = try BrokerSession(nil)
        let error = await Self.failure { try await session.broker().accounts(for: Self.clientID) }
        #expect(error?.code == .brokerUnavailable)
        #expect(error?.message.contains("microsoft-identity-broker") == true)
        var settings = BrokerSettings()
        settings.busAddress = "unix:path=\(session.directory)/no-such-bus"
        let other = LinuxTokenBroker(settings)
        #expect(await Self.failure { try await other.accounts(for: Self.clientID) }?.code == .brokerUnavailable)
        settings.library = "libno-such-gio.so.0"
        let third = LinuxTokenBroker(settings)
        #expect(await Self.failure { try await third.accounts(for: Self.clientID) }?.code == .brokerUnavailable)
    }

    @Test func removesTheAccountWhereTheBrokerCan() async throws {
        let account = try #require(try Self.request().account)
        let session = try BrokerSession(["getAccounts": BrokerFixtures.accounts, "removeAccount": "{}"])
        try await session.broker().remove(account, for: Self.clientID)
        #expect(try session.calls().map(\.[0]) == ["getAccounts", "removeAccount"])
        let himmelblau = try BrokerSession([
            "getAccounts": BrokerFixtures.accounts, "removeAccount": #"{"error":"Not implemented"}"#,
        ])
        let error = await Self.failure { try await himmelblau.broker().remove(account, for: Self.clientID) }
        #expect(error?.code == .unsupported)
    }

    @Test func tellsVendorAndVersion() async throws {
        let version = #"{"linuxBrokerVersion":"3.0.1"}"#
        let microsoft = try BrokerSession(["getLinuxBrokerVersion": version])
        #expect(try await microsoft.broker().information() == BrokerInformation(version: "3.0.1"))
        let himmelblau = try BrokerSession(["getLinuxBrokerVersion": version, "product": "himmelblau_broker"])
        #expect(try await himmelblau.broker().information().product == "himmelblau_broker")
    }
}

extension BrokerSession {
    /// Waits for a call, of which the stand-in writes only its log.
    @discardableResult
    func waitForCall(_ method: String) async throws -> [String] {
        let end = ContinuousClock.now + .seconds(20)
        while ContinuousClock.now < end {
            if let call = try calls().first(where: { $0.first == method }) { return call }
            try await Task.sleep(for: .milliseconds(5))
        }
        throw Failed()
    }
}
