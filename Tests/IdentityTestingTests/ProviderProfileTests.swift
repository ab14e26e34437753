// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityTesting
import OAuthWire
import Testing

@Suite(.timeLimit(.minutes(1)))
struct ProviderProfileTests {
    static let profiles: [TestIdentityProvider.Profile] = [
        .openIDConnect, .entra, .externalID, .b2c, .b2c(tenant: "contoso.onmicrosoft.com", policies: ["signin"]), .adfs,
    ]

    private func document(_ url: String, of provider: TestIdentityProvider) async throws -> DiscoveryDocument {
        let address = try #require(WebAddress(url))
        let client = ProviderClient(provider: provider, base: address.origin)
        let path = address.path + (address.query.map { "?" + $0 } ?? "")
        return try DiscoveryDocument(try await client.get(path).json)
    }

    @Test(arguments: profiles)
    func publishesWhatItsAuthorityExpects(_ profile: TestIdentityProvider.Profile) async throws {
        let provider = try TestIdentityProvider(profile: profile)
        let authority = provider.authority
        for url in authority.configurationURLs {
            let metadata = try await document(url, of: provider)
            #expect(authority.accepts(publishedIssuer: metadata.issuer))
            #expect(metadata.authorizationEndpoint.map { authority.accepts(endpoint: $0) } == true)
            if let templates = authority.templates {
                #expect(metadata.authorizationEndpoint == templates.authorizationEndpoint)
                #expect(metadata.tokenEndpoint == templates.tokenEndpoint)
                #expect(metadata.deviceAuthorizationEndpoint == templates.deviceAuthorizationEndpoint)
                #expect(metadata.endSessionEndpoint == templates.endSessionEndpoint)
                #expect(metadata.jwksURI == templates.jwksURI)
            }
        }
    }

    @Test(arguments: profiles)
    func issuesTokensItsAuthorityAccepts(_ profile: TestIdentityProvider.Profile) async throws {
        let provider = try TestIdentityProvider.approving(profile)
        let metadata = try await document(try #require(provider.authority.configurationURLs.first), of: provider)
        let tokenEndpoint = try #require(metadata.tokenEndpoint.flatMap(WebAddress.init))
        var client = ProviderClient(provider: provider, base: tokenEndpoint.origin, tokenPath: tokenEndpoint.path)
        client.authorizePath = try #require(metadata.authorizationEndpoint.flatMap(WebAddress.init)).path
        let scope = "openid profile offline_access read"
        let tokens = try TokenResponse(try await client.redeem(code: client.code(["scope": scope])).json)
        let claims = try IDTokenClaims(JSONWebToken(compact: try #require(tokens.idToken)).claims)
        #expect(
            provider.authority.accepts(
                tokenIssuer: claims.issuer,
                tenantID: claims.tid,
                published: metadata.issuer
            )
        )
        let identity = AccountIdentity(
            authority: provider.authority,
            clientInfo: tokens.clientInfo.flatMap(ClientInfo.parse),
            issuer: claims.issuer,
            subject: claims.subject
        )
        switch profile {
        case .entra(let tenant), .externalID(let tenant):
            #expect(identity?.homeAccountID == "\(TestIdentityProvider.Person.alice.objectID).\(tenant)")
        case .b2c:
            #expect(identity?.accountID.rawValue.hasPrefix(TestIdentityProvider.Person.alice.objectID + ".") == true)
        default: #expect(identity?.homeAccountID == "\(claims.issuer)|subject-alice")
        }
    }

    @Test func publishesATemplateForSeveralTenants() async throws {
        let provider = try TestIdentityProvider(profile: .entra)
        let url = "https://login.windows.net/organizations/v2.0/.well-known/openid-configuration"
        #expect(try await document(url, of: provider).issuer == "https://login.windows.net/{tenantid}/v2.0")
        let client = ProviderClient(provider: provider, base: "https://login.microsoftonline.com")
        let unknown = try await client.get(
            "/99999999-0000-4000-8000-000000000000/v2.0/.well-known/openid-configuration"
        )
        #expect(try unknown.json.string("error") == "invalid_tenant")
    }

    @Test func knowsThePolicyInAllForms() async throws {
        let provider = try TestIdentityProvider(profile: .b2c)
        let origin = "https://contoso.b2clogin.com"
        for path in ["/tfp/contoso.onmicrosoft.com/b2c_1_reset/v2.0", "/contoso.onmicrosoft.com/b2c_1_reset/v2.0"] {
            let metadata = try await document(origin + path + "/.well-known/openid-configuration", of: provider)
            #expect(metadata.tokenEndpoint?.contains("b2c_1_reset/oauth2/v2.0/token") == true)
        }
        let query = "/contoso.onmicrosoft.com/v2.0/.well-known/openid-configuration?p=b2c_1_reset"
        let metadata = try await document(origin + query, of: provider)
        #expect(metadata.tokenEndpoint == origin + "/contoso.onmicrosoft.com/oauth2/v2.0/token?p=b2c_1_reset")
        #expect(metadata.jwksURI == origin + "/contoso.onmicrosoft.com/discovery/v2.0/keys?p=b2c_1_reset")
    }

    @Test func tellsTheCloudsOfAHost() async throws {
        let provider = try TestIdentityProvider(profile: .entra)
        let client = ProviderClient(provider: provider, base: "https://login.microsoftonline.com")
        func instances(_ host: String) async throws -> JSONObject {
            let endpoint = PercentEncoding.encode("https://\(host)/common/oauth2/v2.0/authorize")
            return try await client.get(
                "/common/discovery/instance?api-version=1.1&authorization_endpoint=\(endpoint)"
            ).json
        }
        let known = try InstanceDiscoveryResponse(try await instances("login.microsoftonline.us"))
        #expect(known.aliases.contains { $0.contains("login.usgovcloudapi.net") })
        #expect(try await instances("login.evil.example").string("error") == "invalid_instance")
    }

    @Test func cannotBeReachedAtOtherHosts() async throws {
        let client = ProviderClient(provider: try TestIdentityProvider(), base: "https://evil.example")
        await #expect { try await client.get("/.well-known/openid-configuration") } throws: { error in
            (error as? AuthenticationError)?.code == .nameNotResolved
        }
    }

    @Test func keepsThePathOfItsIssuer() async throws {
        let provider = try TestIdentityProvider(issuer: "https://id.example.test/realms/one")
        for url in provider.authority.configurationURLs {
            let metadata = try await document(url, of: provider)
            #expect(metadata.issuer == "https://id.example.test/realms/one")
            #expect(metadata.tokenEndpoint == "https://id.example.test/realms/one/token")
        }
    }

    @Test func publishesANewKeyAfterARotation() async throws {
        let provider = try TestIdentityProvider.approving()
        let client = ProviderClient(provider: provider)
        let before = try JSONWebKeySet(try await client.get("/keys").json)
        provider.rotateSigningKey()
        let tokens = try TokenResponse(try await client.redeem(code: client.code()).json)
        let token = try JSONWebToken(compact: try #require(tokens.idToken))
        let after = try JSONWebKeySet(try await client.get("/keys").json)
        #expect(throws: SignatureError.unknownKey) { try before.verify(token) }
        #expect(try after.verify(token) == .rs256)
    }

    @Test func publishesAnotherKeyUnderTheNameOfTheOldOne() async throws {
        let provider = try TestIdentityProvider.approving()
        let client = ProviderClient(provider: provider)
        let before = try JSONWebKeySet(try await client.get("/keys").json)
        for _ in 0..<2 {
            provider.replaceSigningKey()
            let tokens = try TokenResponse(try await client.redeem(code: client.code()).json)
            let token = try JSONWebToken(compact: try #require(tokens.idToken))
            let after = try JSONWebKeySet(try await client.get("/keys").json)
            #expect(throws: SignatureError.badSignature) { try before.verify(token) }
            #expect(try after.verify(token) == .rs256)
            #expect(after.keys.map(\.keyID) == before.keys.map(\.keyID))
        }
    }
}
