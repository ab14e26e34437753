// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTesting
import OAuthWire
import Testing

/// The token that a script gets, and its validity.
@Suite struct TokenProcessTests {
    @Test(.timeLimit(.minutes(1))) func renewsATokenThatIsNotGoodForAsLongAsIsAskedFor() async throws {
        let place = try Surroundings()
        let login = try await place.login()
        #expect(try await place.run("token", "--min-validity", "3000").output == login.output)
        place.provider.settings.accessTokenLifetime = .seconds(600)
        // From now on, the provider issues shorter-lived tokens.
        let short = try await place.run("token", "--force-refresh", "--min-validity", "3000")
        #expect(short.status == 0 && short.errors.hasPrefix("Warning: the token is good for "), "\(short.errors)")
        let again = try await place.run("token", "--min-validity", "3000")
        #expect(again.output == short.output && place.provider.count(of: .token) == 2)
        place.provider.settings.accessTokenLifetime = .seconds(10)
        let shortest = try await place.run("token", "--force-refresh")
        place.provider.settings.accessTokenLifetime = .seconds(3600)
        // A moment later the token is valid for less than that.
        var renewed = shortest
        while renewed.output == shortest.output { renewed = try await place.run("token", "--min-validity", "9") }
        #expect(renewed.status == 0 && renewed.errors.isEmpty, "\(renewed.errors)")
        #expect(try await place.run("token", "--min-validity", "-1").status == 64)
        #expect(try await place.run("token", "--min-validity=86401").status == 64)
    }

    @Test(.timeLimit(.minutes(1))) func printsAnIDTokenThatHasNotExpired() async throws {
        let place = try Surroundings()
        place.provider.settings.idTokenLifetime = .seconds(-10)
        #expect(try await place.login().status == 0)
        place.provider.settings.idTokenLifetime = .seconds(600)
        let renewed = try await place.run("token", "--id-token")
        #expect(renewed.status == 0, "\(renewed.errors)")
        let claims = try JSONWebToken(compact: String(renewed.output.dropLast())).claims
        #expect(claims.string("sub") == "subject-alice")
        let json = try await place.run("token", "--id-token", "--json", "--min-validity", "300")
        let result = try JSONObject(parsing: Array(json.output.utf8))
        #expect(result.members.map(\.name).suffix(2) == ["idToken", "idTokenExpiresOn"])
        #expect(result.string("idToken").map { $0 + "\n" } == renewed.output)
        #expect(place.provider.count(of: .token) == 2)
        #expect(try await place.run("token", "--json").output.contains("idToken") == false)
    }

    /// Without ID tokens on refresh, only a sign-in renews the ID token.
    @Test(.timeLimit(.minutes(1))) func asksForASignInWhereNoIDTokenIsRenewed() async throws {
        let place = try Surroundings()
        place.provider.settings.idTokenLifetime = .seconds(-10)
        place.provider.settings.issuesIDTokenOnRefresh = false
        #expect(try await place.login().status == 0)
        let spent = try await place.run("token", "--id-token", "--json")
        #expect(spent.status == 2 && spent.output.isEmpty)
        #expect(try TroubleProcessTests.code(of: spent) == "interaction_required.login")
        #expect(spent.errors.contains("To sign in, run: identityctl login"))
        #expect(try await place.run("token").status == 0)
        place.provider.close()
        #expect(try await place.run("token", "--id-token").status == 3)
    }

    @Test(.timeLimit(.minutes(1))) func asksForWhatItIsToldTo() async throws {
        let place = try Surroundings()
        let login = try await place.login("--default-scopes", "openid", "--parameter", "audience=https://api.test/?a=b")
        #expect(login.status == 0, "\(login.errors)")
        let sent = try #require(place.provider.requests.first { $0.endpoint == .authorization })
        #expect(sent["scope"] == "files.read openid" && sent["audience"] == "https://api.test/?a=b")
        let nobody = try await place.run("login", "--default-scopes", "")
        #expect(nobody.status == 64 && nobody.errors.contains("needs openid"), "\(nobody.errors)")
        let reserved = try await place.run("login", "--parameter", "scope=secret")
        #expect(reserved.status == 64 && !reserved.errors.contains("secret"))
        place.provider.settings.knownScopes = ["other"]
        let refused = try await place.login()
        #expect(refused.status == 7 && refused.errors.contains("offline_access"), "\(refused.errors)")
        #expect(refused.errorLines.last?.hasSuffix(": identityctl login --default-scopes openid") == true)
    }
}
