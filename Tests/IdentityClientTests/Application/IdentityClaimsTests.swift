// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Testing

/// Claims read by type, and requested.
@Suite(.timeLimit(.minutes(1)))
struct IdentityClaimsTests {
    private func claims(_ json: String) throws -> IdentityClaims { try #require(IdentityClaims(json: json)) }

    @Test func areReadByType() throws {
        let claims = try claims(
            #"""
            {"sub":"1","name":"A","preferred_username":"a","email":"a@e.test","email_verified":true,"roles":["r","s"],
            "groups":["g"],"acr":"urn:gold","amr":["pwd","otp"],"auth_time":1700000000,"department":"X"}
            """#
        )
        #expect(claims.subject == "1" && claims.name == "A" && claims.preferredUsername == "a")
        #expect(claims.email == "a@e.test" && claims.isEmailVerified == true)
        #expect(claims.roles == ["r", "s"] && claims.groups == ["g"] && claims.acr == "urn:gold")
        #expect(claims.amr == ["pwd", "otp"] && claims.authTime == Date(timeIntervalSince1970: 1_700_000_000))
    }

    private struct Address: Decodable, Equatable {
        var city: String
    }

    @Test func giveAnyClaimAsTheTypeThatIsWanted() throws {
        let claims = try claims(
            #"{"department":"X","level":3,"rate":0.5,"isGuest":false,"groups":["g"],"updated_at":1700000000,"address":{"city":"Y"}}"#
        )
        #expect(claims["department"] == "X" && claims["level"] == 3 && claims["rate"] == 0.5)
        #expect(claims["isGuest"] == false && claims["groups"] == ["g"] && claims["address"] == Address(city: "Y"))
        #expect(claims["updated_at"] == Date(timeIntervalSince1970: 1_700_000_000))
        let (absent, other): (String?, Int?) = (claims["none"], claims["department"])
        #expect(absent == nil && other == nil)
    }

    @Test(arguments: [
        "{}",
        #"""
        {"sub":1,"name":["A"],"preferred_username":null,"email":{},"email_verified":1,"roles":"r","groups":[1],"acr":2,
        "amr":"pwd","auth_time":"1700000000"}
        """#,
        #"{"roles":["r",null],"groups":{"g":1},"amr":[["pwd"]],"auth_time":1e99,"email_verified":"yes"}"#,
    ])
    func areNilIfAbsentOrOfAnotherType(json: String) throws {
        let claims = try claims(json)
        #expect(claims.subject == nil && claims.name == nil && claims.preferredUsername == nil && claims.email == nil)
        #expect(claims.isEmailVerified == nil && claims.roles == nil && claims.groups == nil && claims.acr == nil)
        #expect(claims.amr == nil && claims.authTime == nil)
    }

    @Test(arguments: [("true", true), ("false", false), (#""true""#, true), (#""false""#, false)])
    func readVerificationAlsoAsText(json: String, isVerified: Bool) throws {
        #expect(try claims(#"{"email_verified":\#(json)}"#).isEmailVerified == isVerified)
    }

    @Test(arguments: ["", "[]", "1", "{", #"{"a":1,"a":2}"#])
    func needAnObject(json: String) {
        #expect(IdentityClaims(json: json) == nil)
    }

    @Test func ofTheIDTokenNeedNoRequest() async throws {
        let setup = try TestSetup()
        setup.provider.tamperNextIDToken(with: .claim("acr", "gold"))
        let (_, result) = try await setup.signedIn()
        let claims = try #require(result.tenantProfile?.claims)
        #expect(claims.subject == "subject-alice" && claims.acr == "gold" && claims.authTime != nil)
        #expect(setup.provider.count(of: .userInfo) == 0)
        #expect(TenantProfile(tenantID: "t", localAccountID: "s").claims == nil)
    }

    @Test func areRequestedByName() {
        var request = ClaimsRequest()
        #expect(request.json == "{}")
        request.add("email", to: .userInfo, isEssential: true)
        request.add("picture", to: .userInfo)
        request.add("acr", to: .idToken, isEssential: true, values: ["gold", "silver"])
        request.add("sub", to: .idToken, values: ["248289761001"])
        request.add("a\"b", to: .accessToken)
        #expect(
            request.json == #"{"userinfo":{"email":{"essential":true},"picture":null},"#
                + #""id_token":{"acr":{"essential":true,"values":["gold","silver"]},"sub":{"value":"248289761001"}},"#
                + #""access_token":{"a\"b":null}}"#
        )
        request.add("acr", to: .idToken)
        #expect(request.json.contains(#""id_token":{"acr":null,"#))
    }

    /// The essential `acr` of a request is one that the library checks.
    @Test func anEssentialACRIsChecked() async throws {
        let setup = try TestSetup()
        let application = try setup.application()
        var request = ClaimsRequest()
        request.add("acr", to: .idToken, isEssential: true, values: ["gold"])
        var parameters = InteractiveParameters(scopes: ["api.read"])
        parameters.claims = request.json
        setup.provider.tamperNextIDToken(with: .claim("acr", "silver"), .claim("acr", "gold"))
        try await expectError(.invalidIDToken) { try await application.acquireTokenInteractively(parameters) }
        #expect(try await application.acquireTokenInteractively(parameters).tenantProfile?.claims?.acr == "gold")
    }

    @Test func requiredMethodsAreChecked() async throws {
        let setup = try TestSetup()
        let application = try setup.application()
        var parameters = InteractiveParameters(scopes: ["api.read"])
        parameters.requiredAMR = ["mfa", "otp"]
        let methods = [["pwd"], ["mfa"], ["pwd", "mfa", "otp"]].map { IDTokenTampering.claim("amr", $0) }
        setup.provider.tamperNextIDToken(with: methods[0], methods[1], .claim("amr", "mfa"), methods[2])
        for _ in 0..<3 {
            let error = try await expectError(.insufficientUserAuthentication) {
                try await application.acquireTokenInteractively(parameters)
            }
            #expect(error.message.contains("amr"))
        }
        #expect(try await setup.storedCredentials(of: application).isEmpty)
        #expect(try await application.acquireTokenInteractively(parameters).source == .identityProvider)
    }
}
