// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityTestSupport
import IdentityTesting
import OAuthWire
import Testing

@testable import IdentityClient

/// The report that a person may send with a support case. `SecretsScenarioTests` looks for secrets in it.
@Suite(.timeLimit(.minutes(1)))
struct SupportReportTests {
    private func report(_ application: PublicClientApplication) async throws -> JSONObject {
        try JSONObject(parsing: Array(try await application.supportReport().utf8))
    }

    private func first(_ report: JSONObject, _ name: String) -> JSONObject? {
        if case .object(let object)? = report.array(name)?.first { object } else { nil }
    }

    @Test func tellsTheStateOfAnAccountWithoutNames() async throws {
        let setup = try TestSetup(.entra) { $0.rotatesRefreshTokens = false }
        let (application, result) = try await setup.signedIn()
        let text = try await application.supportReport()
        #expect(!text.contains("alice@") && !text.contains("Alice"))
        let account = try #require(first(try await report(application), "accounts"))
        #expect(account.string("id") == result.account.id.rawValue && account.bool("isStored") == true)
        #expect(first(account, "tenantProfiles")?.bool("hasIDToken") == true)
        let token = try #require(first(account, "accessTokens"))
        #expect(token.strings("scopes")?.contains("api.read") == true && token.bool("isExpired") == false)
        #expect(token.string("expiresOn") == result.expiresOn.utcText)

        setup.clock.advance(by: .seconds(3600))
        setup.provider.failNext(.token, with: .refusal("invalid_grant"))
        try await expectError(.signInExpired) {
            try await application.acquireTokenSilently(scopes: ["api.read"], account: result.account)
        }
        let later = try #require(first(try await report(application), "accounts"))
        #expect(first(later, "accessTokens")?.bool("isExpired") == true)
        #expect(later.object("refreshToken")?.array("refusals")?.count == 1)
    }

    @Test func copiesNoMemberThatItDoesNotKnow() async throws {
        let setup = try TestSetup()
        let (application, _) = try await setup.signedIn()
        let (key, record) = try #require(try await setup.storedCredentials(of: application).first)
        var credentials = try AccountCredentials(decoding: record.bytes) { _ in ScopeRule(ignoresCase: false) }
        credentials.unknown["later"] = .string("c4n4ry")
        credentials.profiles[0].unknown["later"] = .string("c4n4ry")
        #expect(try await setup.cache.replace(record, with: CacheRecord(bytes: credentials.encoded()), for: key))
        #expect(try await !setup.application().supportReport().contains("c4n4ry"))
    }

    @Test func listsTheAccountsOfThisProviderOnly() async throws {
        let setup = try TestSetup()
        let (application, _) = try await setup.signedIn()
        #expect(try await report(application).array("accounts")?.count == 1)
        let issuer = try Authority.openIDConnect(issuer: "https://other.test")
        let other = try setup.application { $0.authority = issuer }
        #expect(try await report(other).array("accounts")?.isEmpty == true)
    }
}
