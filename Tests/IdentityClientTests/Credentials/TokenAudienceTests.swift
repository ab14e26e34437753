// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import OAuthWire
import Testing

/// Where an access token goes that names who it is for.
@Suite(.timeLimit(.minutes(1))) struct TokenAudienceTests {
    private static func token(_ claims: String) -> String {
        "\(Base64URL.encode(Array(#"{"alg":"RS256"}"#.utf8))).\(Base64URL.encode(Array(claims.utf8))).c2ln"
    }

    @Test(
        arguments: [
            (#""https://api.example/mcp""#, nil), (#""https://api.example/mcp/""#, nil),
            (#""https://api.example""#, nil),
            (#""https://API.example:443/""#, nil), (#"["https://other.example","https://api.example/mcp"]"#, nil),
            (#"["client","https://api.example"]"#, nil), (#""client""#, nil),
            (#"["client","api://guid","urn:x"]"#, nil),
            (#""""#, nil), ("[]", nil), ("5", nil), ("null", nil), (#"{"x":"https://other.example"}"#, nil),
            (#""https://other.example""#, ["https://other.example"]),
            (
                #"["client",5,"https://other.example/mcp","HTTPS://third.example"]"#,
                [
                    "https://other.example/mcp", "HTTPS://third.example",
                ]
            ),
            (#""https://api.example/mcpx""#, ["https://api.example/mcpx"]),
            (#""https://api.example/mcp/tools""#, ["https://api.example/mcp/tools"]),
            (#""https://api.example:8443/mcp""#, ["https://api.example:8443/mcp"]),
            (#""http://api.example/mcp""#, ["http://api.example/mcp"]),
            (#""https://api.example@other.example/mcp""#, ["https://api.example@other.example/mcp"]),
            (#""https://api.example.other.example/mcp""#, ["https://api.example.other.example/mcp"]),
            (#""https://""#, ["https://"]),
        ] as [(String, [String]?)]
    )
    func isTheResourceOrAboveIt(_ audience: String, _ others: [String]?) {
        let token = Self.token(#"{"iss":"https://as","aud":\#(audience)}"#)
        #expect(TokenAudience.others(in: token, than: "https://api.example/mcp") == others)
    }

    @Test(arguments: ["", "opaque", "a.b", "a.b.c", "a.b.c.d.e", token("[]"), token("{"), token("{}")])
    func isNotReadInAnotherToken(_ token: String) {
        #expect(TokenAudience.others(in: token, than: "https://api.example/mcp") == nil)
    }

    /// A provider that ignores the resource, and issues tokens for the API that it knows.
    private struct OtherAudience: HTTPTransport {
        let base: any HTTPTransport
        let audience: Shared<String>

        func send(_ request: HTTPRequest, body: [UInt8]?) async throws -> (HTTPResponse, [UInt8]) {
            let (response, answer) = try await base.send(request, body: body)
            guard var json = try? JSONObject(parsing: answer), json.string("access_token") != nil else {
                return (response, answer)
            }
            json["access_token"] = .string(TokenAudienceTests.token(#"{"aud":"\#(audience.value)"}"#))
            return (response, json.serialized())
        }
    }

    @Test func refusesATokenForAnotherAddressAtTheSignInAndLater() async throws {
        let setup = try TestSetup { $0.requiresOfflineAccess = false }
        let audience = Shared("https://other.example")
        let transport = OtherAudience(base: setup.transport, audience: audience)
        let authority = try Authority.oauth2(issuer: setup.provider.authority.url, resource: "https://api.example/mcp")
        func signedIn(_ checks: Bool) async throws -> (PublicClientApplication, AuthenticationResult) {
            try await setup.signedIn {
                $0.authority = authority
                $0.transport = transport
                $0.checksAudience = checks
            }
        }
        let error = try await expectError(.invalidTarget) { try await signedIn(true) }
        #expect(error.message.contains("'https://other.example'") && error.message.contains("https://api.example/mcp"))
        #expect(setup.provider.count(of: .revocation) == 1)
        _ = try await signedIn(false)
        audience.withLock { $0 = "https://api.example" }
        let (application, result) = try await signedIn(true)
        audience.withLock { $0 = "https://other.example" }
        setup.clock.advance(by: .seconds(3600))
        try await expectError(.invalidTarget) {
            try await application.acquireTokenSilently(scopes: ["api.read"], account: result.account)
        }
    }
}
