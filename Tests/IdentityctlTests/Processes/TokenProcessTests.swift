// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTesting
import OAuthWire
import Testing

/// The token that a script gets, and its validity.
@Suite struct TokenProcessTests {
    @Test(.timeLimit(.minutes(1))) func renewsATokenThatIsNotGoodForAsLongAsIsAskedFor() async throws {
        let setup = try ToolSetup()
        let token = try await setup.signIn()
        #expect(try await setup.run("token", "--min-validity", "3000").output == token + "\n")
        setup.provider.settings.accessTokenLifetime = .seconds(600)
        // Now shorter ones come.
        let short = try await setup.run("token", "--force-refresh", "--min-validity", "3000")
        #expect(short.status == 0 && short.errors.hasPrefix("Warning: the token is good for "), "\(short.errors)")
        let again = try await setup.run("token", "--min-validity", "3000")
        #expect(again.output == short.output && setup.provider.count(of: .token) == 2)
        setup.provider.settings.accessTokenLifetime = .seconds(10)
        let shortest = try await setup.run("token", "--force-refresh")
        setup.provider.settings.accessTokenLifetime = .seconds(3600)
        // In a moment it is good for less than that.
        var renewed = shortest
        while renewed.output == shortest.output { renewed = try await setup.run("token", "--min-validity", "9") }
        #expect(renewed.status == 0 && renewed.errors.isEmpty, "\(renewed.errors)")
        #expect(try await setup.run("token", "--min-validity", "-1").status == 64)
        #expect(try await setup.run("token", "--min-validity=86401").status == 64)
    }

    @Test(.timeLimit(.minutes(1))) func takesAnExpiredTokenOnlyIfTold() async throws {
        let setup = try ToolSetup()
        let token = try await setup.signIn()
        #expect(try await setup.run("token", "--cache-only").output == token + "\n")
        #expect(try await setup.run("token", "--cache-only", "--force-refresh").status == 64)
        setup.provider.settings.accessTokenLifetime = .seconds(1)
        let short = try await setup.run("token", "--force-refresh")
        setup.provider.close()
        var spent = short
        while spent.status == 0 { spent = try await setup.run("token", "--cache-only") }
        #expect(spent.status == 3 && spent.output.isEmpty, "\(spent.errors)")
        #expect(spent.errors.contains("network.not_allowed") && spent.errors.contains("leave out --cache-only"))
        let json = try await setup.run("token", "--cache-only", "--allow-expired", "--json")
        let result = try JSONObject(parsing: Array(json.output.utf8))
        #expect(result.string("accessToken").map { $0 + "\n" } == short.output && result.integer("expiredFor") != nil)
        #expect(json.status == 0 && json.errors.hasPrefix("Warning: the token expired "), "\(json.errors)")
        #expect(try await setup.run("token", "--allow-expired").output == short.output)
        #expect(try await setup.run("token").status == 3)
    }

    @Test(.timeLimit(.minutes(1))) func printsAnIDTokenThatHasNotExpired() async throws {
        let setup = try ToolSetup()
        setup.provider.settings.idTokenLifetime = .seconds(-10)
        try await setup.signIn()
        setup.provider.settings.idTokenLifetime = .seconds(600)
        let renewed = try await setup.run("token", "--id-token")
        #expect(renewed.status == 0, "\(renewed.errors)")
        let claims = try JSONWebToken(compact: String(renewed.output.dropLast())).claims
        #expect(claims.string("sub") == "subject-alice")
        let json = try await setup.run("token", "--id-token", "--json", "--min-validity", "300")
        let result = try JSONObject(parsing: Array(json.output.utf8))
        #expect(result.members.map(\.name).suffix(2) == ["idToken", "idTokenExpiresOn"])
        #expect(result.string("idToken").map { $0 + "\n" } == renewed.output)
        #expect(setup.provider.count(of: .token) == 2)
        #expect(try await setup.run("token", "--json").output.contains("idToken") == false)
    }

    /// Without ID tokens on refresh, only a sign-in renews the ID token.
    @Test(.timeLimit(.minutes(1))) func asksForASignInWhereNoIDTokenIsRenewed() async throws {
        let setup = try ToolSetup()
        setup.provider.settings.idTokenLifetime = .seconds(-10)
        setup.provider.settings.issuesIDTokenOnRefresh = false
        try await setup.signIn()
        let spent = try await setup.run("token", "--id-token", "--json")
        #expect(spent.status == 2 && spent.output.isEmpty)
        #expect(try TroubleProcessTests.code(of: spent) == "interaction_required.login")
        #expect(spent.errors.contains("To sign in, run: identityctl login"))
        #expect(try await setup.run("token").status == 0)
        setup.provider.close()
        #expect(try await setup.run("token", "--id-token").status == 3)
    }

    @Test(.timeLimit(.minutes(1))) func asksForWhatItIsToldTo() async throws {
        let setup = try ToolSetup()
        let login = try await setup.login("--default-scopes", "openid", "--parameter", "audience=https://api.test/?a=b")
        #expect(login.status == 0, "\(login.errors)")
        let sent = try #require(setup.provider.requests.first { $0.endpoint == .authorization })
        #expect(sent["scope"] == "files.read openid" && sent["audience"] == "https://api.test/?a=b")
        let nobody = try await setup.run("login", "--default-scopes", "")
        #expect(nobody.status == 64 && nobody.errors.contains("needs openid"), "\(nobody.errors)")
        let reserved = try await setup.run("login", "--parameter", "scope=secret")
        #expect(reserved.status == 64 && !reserved.errors.contains("secret"))
        setup.provider.settings.knownScopes = ["other"]
        let refused = try await setup.login()
        #expect(refused.status == 7 && refused.errors.contains("offline_access"), "\(refused.errors)")
        #expect(refused.errorLines.last?.hasSuffix(": identityctl login --default-scopes openid") == true)
    }
}
