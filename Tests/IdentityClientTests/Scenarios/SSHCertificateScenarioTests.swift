// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import IdentityTestSupport
import IdentityTesting
import OAuthWire
import Testing

@testable import IdentityClient

/// SSH certificates, from the request to the line for `ssh`.
@Suite(.timeLimit(.minutes(1)))
struct SSHCertificateScenarioTests {
    private let key: SSHPublicKey
    private static let scope: Scope = "https://pas.windows.net/CheckMyAccess/Linux/.default"

    init() throws { key = try SSHPublicKey(SSHExample.first) }

    private func parameters(_ account: Account, _ key: SSHPublicKey? = nil) -> SilentParameters {
        var parameters = SilentParameters(scopes: [Self.scope], account: account)
        parameters.scheme = .sshCertificate(for: key ?? self.key)
        return parameters
    }

    @Test func certifiesAKeyWithTheRefreshTokenOfTheSignIn() async throws {
        let setup = try TestSetup(.entra)
        let (application, signedIn) = try await setup.signedIn()
        #expect(signedIn.sshCertificate == nil)
        let result = try await application.acquireTokenSilently(parameters(signedIn.account))
        #expect(result.source == .identityProvider && result.tokenType == "ssh-cert")
        #expect(result.scheme == .sshCertificate(for: key))
        let sent = try #require(setup.provider.requests.last { $0.endpoint == .token })
        #expect(sent["token_type"] == "ssh-cert" && sent["scope"]?.contains(Self.scope.rawValue) == true)
        let sentKey = try #require(try sent["req_cnf"].map { try JSONObject(parsing: Array($0.utf8)) })
        #expect(sentKey == key.key.webKey)
        let certificate = try #require(result.sshCertificate)
        #expect(certificate.publicKey == key && certificate.principals == ["alice@example.test"])
        #expect(certificate.line == "ssh-rsa-cert-v01@openssh.com \(result.accessToken)")
        #expect(certificate.validBefore == result.expiresOn)
        // It is shown to no API.
        #expect(result.authorizationHeader.isEmpty)
        let request = HTTPRequest(method: .get, scheme: "https", authority: "api.example.com", path: "/")
        try await expectError(.invalidArgument) { try result.authorizationHeader(for: request) }
    }

    @Test func keepsACertificateForEachKeyApartFromOtherTokens() async throws {
        let setup = try TestSetup(.entra)
        let (application, bearer) = try await setup.signedIn(scopes: [Self.scope])
        let second = try SSHPublicKey(SSHExample.second)
        let results = [
            try await application.acquireTokenSilently(parameters(bearer.account)),
            try await application.acquireTokenSilently(parameters(bearer.account, second)),
        ]
        #expect(results[1].sshCertificate?.publicKey == second)
        var pop = parameters(bearer.account)
        pop.scheme = .pop
        let signed = try await application.acquireTokenSilently(pop)
        #expect(signed.tokenType == "PoP")
        let requests = setup.provider.count(of: .token)
        for program in [application, try setup.application()] {
            for (key, result) in zip([key, second], results) {
                let hit = try await program.acquireTokenSilently(parameters(bearer.account, key))
                #expect(hit.source == .cache && hit.accessToken == result.accessToken)
                #expect(hit.sshCertificate == result.sshCertificate)
            }
            let plain = try await program.acquireTokenSilently(scopes: [Self.scope], account: bearer.account)
            #expect(plain.accessToken == bearer.accessToken && plain.scheme == .bearer)
            #expect(try await program.acquireTokenSilently(pop).accessToken == signed.accessToken)
        }
        #expect(setup.provider.count(of: .token) == requests)
        // Until it ends.
        setup.clock.advance(by: .seconds(3600))
        let renewed = try await application.acquireTokenSilently(parameters(bearer.account))
        #expect(renewed.source == .identityProvider && renewed.accessToken != results[0].accessToken)
    }

    @Test func aProgramSignsInForACertificateAtOnce() async throws {
        let setup = try TestSetup(.entra)
        let application = try setup.application()
        var wanted = InteractiveParameters(scopes: [Self.scope])
        wanted.scheme = .sshCertificate(for: key)
        let result = try await application.acquireTokenInteractively(wanted)
        #expect(result.sshCertificate?.publicKey == key && result.source == .identityProvider)
        let hit = try await application.acquireTokenSilently(parameters(result.account))
        #expect(hit.accessToken == result.accessToken && hit.source == .cache)
        // A prepared sign-in keeps the key, also for another process.
        let request = try await application.prepareAuthorization(wanted)
        let restored = try await setup.application().restoreAuthorization(try request.serialized())
        #expect(restored.signIn.proof?.binding == request.signIn.proof?.binding && request.signIn.proof != nil)
    }

    @Test func aDeviceCodeGivesACertificate() async throws {
        let setup = try TestSetup(.entra)
        let application = try setup.application()
        var wanted = DeviceCodeParameters(scopes: [Self.scope])
        wanted.scheme = .sshCertificate(for: key)
        let provider = setup.provider
        let task = Task { [wanted] in
            try await application.acquireTokenWithDeviceCode(wanted) { prompt in
                provider.approveDevice(userCode: prompt.userCode, as: .alice)
            }
        }
        try await setup.clock.waitForSleepers()
        setup.clock.advance(by: .seconds(5))
        #expect(try await task.value.sshCertificate?.publicKey == key)
    }

    @Test func isOfEntraIDOnly() async throws {
        for profile in [TestIdentityProvider.Profile.openIDConnect, .externalID, .adfs] {
            let setup = try TestSetup(profile)
            let (application, bearer) = try await setup.signedIn()
            let requests = setup.provider.count(of: .token)
            try await expectError(.unsupported) {
                try await application.acquireTokenSilently(parameters(bearer.account))
            }
            var wanted = InteractiveParameters(scopes: [Self.scope])
            wanted.scheme = .sshCertificate(for: key)
            try await expectError(.unsupported) { [wanted] in try await application.acquireTokenInteractively(wanted) }
            #expect(setup.provider.count(of: .token) == requests)
        }
    }

    @Test func refusesABearerTokenInstead() async throws {
        let setup = try TestSetup(.entra) { $0.issuesBoundTokens = false }
        let (application, bearer) = try await setup.signedIn()
        let error = try await expectError(.unsupported) {
            try await application.acquireTokenSilently(parameters(bearer.account))
        }
        #expect(error.message.contains("SSH certificate"))
    }

    /// Answers whose certificate is of no use to this person now, by their difference from a good one.
    private static let hostile: [@Sendable (inout SSHCertificateDraft, UInt64) throws -> Void] = [
        { draft, _ in draft.key = try SSHPublicKey(SSHExample.second).key },
        { draft, now in draft.validBefore = now }, { draft, now in draft.validAfter = now + 600 },
        { draft, now in (draft.validAfter, draft.validBefore) = (now + 601, now + 3600) },
        { draft, _ in draft.kind = 2 }, { draft, _ in draft.principals = [] },
        { draft, _ in draft.type = "ssh-rsa" },
    ]

    private func answer(_ setup: TestSetup, _ certificate: String, expiresIn: Int = 3600) -> TestIdentityProvider.Fault
    {
        let body = #"{"token_type":"ssh-cert","access_token":"\#(certificate)","expires_in":\#(expiresIn)}"#
        return .answer(status: 200, headers: [("Content-Type", "application/json")], body: body)
    }

    private func draft(_ setup: TestSetup) -> SSHCertificateDraft {
        let now = UInt64(setup.clock.now.timeIntervalSince1970)
        return SSHCertificateDraft(key: key.key, principals: ["a"], validAfter: now - 60, validBefore: now + 600)
    }

    @Test(arguments: hostile.indices) func refusesAnythingButAValidCertificateForItsKey(index: Int) async throws {
        let setup = try TestSetup(.entra)
        let (application, bearer) = try await setup.signedIn()
        var draft = draft(setup)
        try Self.hostile[index](&draft, UInt64(setup.clock.now.timeIntervalSince1970))
        setup.provider.failNext(.token, with: answer(setup, try draft.signed()))
        try await expectError(.malformedResponse) {
            try await application.acquireTokenSilently(parameters(bearer.account))
        }
        // Nothing of it was stored, and the sign-in goes on.
        let next = try await application.acquireTokenSilently(parameters(bearer.account))
        #expect(next.source == .identityProvider && next.sshCertificate?.publicKey == key)
    }

    @Test func refusesATokenThatIsNoCertificate() async throws {
        let setup = try TestSetup(.entra)
        let (application, bearer) = try await setup.signedIn()
        setup.provider.failNext(.token, with: answer(setup, "eyJhbGciOiJub25lIn0.e30."))
        try await expectError(.malformedResponse) {
            try await application.acquireTokenSilently(parameters(bearer.account))
        }
        // A certificate that was not asked for is no bearer token.
        setup.provider.failNext(.token, with: answer(setup, try draft(setup).signed()))
        var forced = SilentParameters(scopes: ["api.read"], account: bearer.account)
        forced.forcesRefresh = true
        try await expectError(.malformedResponse) { [forced] in try await application.acquireTokenSilently(forced) }
    }

    /// A server looks at the certificate's time, not at the answer's.
    @Test func endsWithTheCertificateWhateverTheAnswerSays() async throws {
        let setup = try TestSetup(.entra) { $0.extendedLifetime = .seconds(7200) }
        let (application, bearer) = try await setup.signedIn { $0.entra.allowsExtendedLifetime = true }
        setup.provider.failNext(.token, with: answer(setup, try draft(setup).signed()))
        let result = try await application.acquireTokenSilently(parameters(bearer.account))
        #expect(result.expiresOn == setup.clock.now.addingTimeInterval(600))
        setup.clock.advance(by: .seconds(601))
        let renewed = try await application.acquireTokenSilently(parameters(bearer.account))
        #expect(renewed.source == .identityProvider)
        // Not even in an outage is one used that has ended.
        setup.clock.advance(by: .seconds(3601))
        setup.provider.failAlways(.token, with: .drop)
        await #expect(throws: AuthenticationError.self) {
            try await application.acquireTokenSilently(parameters(bearer.account))
        }
    }

    @Test func doesNotAskABroker() async throws {
        let setup = try TestSetup(.entra)
        let broker = ScriptedBroker()
        let (_, bearer) = try await setup.signedIn()
        let application = try setup.application { $0.broker = .whenAvailable(broker) }
        #expect(try await application.acquireTokenSilently(parameters(bearer.account)).source == .identityProvider)
        let strict = try setup.application { $0.broker = .required(broker) }
        var forced = parameters(bearer.account)
        forced.forcesRefresh = true
        try await expectError(.unsupported) { [forced] in try await strict.acquireTokenSilently(forced) }
        #expect(broker.calls.value.isEmpty)
    }

    @Test func aResultOfATestHasItsSchemeToo() throws {
        let account = Account(id: Account.ID(rawValue: "a"), environment: "e")
        let result = AuthenticationResult(
            accessToken: SSHExample.certificate,
            tokenType: "ssh-cert",
            expiresOn: .distantFuture,
            scopes: [],
            account: account,
            source: .cache
        )
        #expect(result.scheme == .sshCertificate(for: key) && result.authorizationHeader.isEmpty)
        #expect("\(result.scheme)" == "ssh-cert" && !result.scheme.isBearer)
    }
}
