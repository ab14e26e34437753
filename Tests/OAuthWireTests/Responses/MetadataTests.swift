// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire
import Testing

@Suite struct MetadataTests {
    /// RFC 8628 §3.2.
    @Test func readsTheDeviceCodeOfTheSpecification() throws {
        let response = try DeviceAuthorizationResponse(
            json(
                #"""
                {"device_code":"GmRhmhcxhwAzkoEqiMEg_DnyEysNkuNhszIySk9eS","user_code":"WDJB-MJHT",
                 "verification_uri":"https://example.com/device",
                 "verification_uri_complete":"https://example.com/device?user_code=WDJB-MJHT","expires_in":1800}
                """#
            )
        )
        #expect(response.deviceCode == "GmRhmhcxhwAzkoEqiMEg_DnyEysNkuNhszIySk9eS")
        #expect(response.userCode == "WDJB-MJHT")
        #expect(response.verificationURI == "https://example.com/device")
        #expect(response.verificationURIComplete == "https://example.com/device?user_code=WDJB-MJHT")
        #expect(response.expiresIn == 1_800)
        #expect(response.interval == 5)
        #expect(response.message == nil)
    }

    @Test func readsTheOlderNameStringsAndTheMessage() throws {
        let response = try DeviceAuthorizationResponse(
            json(
                #"""
                {"device_code":"d","user_code":"u","verification_url":"https://h/","expires_in":"900","interval":"0",
                 "message":"Go to\nhttps://h/"}
                """#
            )
        )
        #expect(response.verificationURI == "https://h/")
        #expect(response.expiresIn == 900)
        #expect(response.interval == 1)
        #expect(response.message == "Go to https://h/")
    }

    @Test(arguments: [
        (#"{"user_code":"u","verification_uri":"https://h/","expires_in":1}"#, WireError.missing("device_code")),
        (#"{"device_code":"d","verification_uri":"https://h/","expires_in":1}"#, .missing("user_code")),
        (#"{"device_code":"d","user_code":"u","expires_in":1}"#, .missing("verification_uri")),
        (#"{"device_code":"d","user_code":"u","verification_uri":"https://h/"}"#, .missing("expires_in")),
        (
            #"{"device_code":"d","user_code":"\u001b[2J","verification_uri":"h","expires_in":1}"#,
            .malformed("user_code")
        ),
        (
            #"{"device_code":"d","user_code":"u","verification_uri":"h\nx","expires_in":1}"#,
            .malformed("verification_uri")
        ),
        (
            #"{"device_code":"d","user_code":"u","verification_uri":"h","expires_in":1,"interval":"soon"}"#,
            .wrongType("interval")
        ),
    ])
    func refusesDeviceCodesThatCannotBeUsed(source: String, expected: WireError) {
        #expect(throws: expected) { try DeviceAuthorizationResponse(json(source)) }
    }

    /// RFC 8414 §3.2, shortened, with RFC 9207 §3.
    @Test func readsProviderMetadata() throws {
        let metadata = try DiscoveryDocument(
            json(
                #"""
                {"issuer":"https://server.example.com","authorization_endpoint":"https://server.example.com/authorize",
                 "token_endpoint":"https://server.example.com/token","jwks_uri":"https://server.example.com/jwks.json",
                 "device_authorization_endpoint":"https://server.example.com/device","end_session_endpoint":null,
                 "revocation_endpoint":"https://server.example.com/rev",
                 "scopes_supported":["openid","profile"],"response_modes_supported":["query","form_post"],
                 "code_challenge_methods_supported":["S256"],
                 "pushed_authorization_request_endpoint":"https://server.example.com/par",
                 "require_pushed_authorization_requests":true,
                 "authorization_response_iss_parameter_supported":true}
                """#
            )
        )
        #expect(metadata.issuer == "https://server.example.com")
        #expect(metadata.authorizationEndpoint == "https://server.example.com/authorize")
        #expect(metadata.tokenEndpoint == "https://server.example.com/token")
        #expect(metadata.jwksURI == "https://server.example.com/jwks.json")
        #expect(metadata.deviceAuthorizationEndpoint == "https://server.example.com/device")
        #expect(metadata.endSessionEndpoint == nil)
        #expect(metadata.revocationEndpoint == "https://server.example.com/rev")
        #expect(metadata.scopesSupported == ["openid", "profile"])
        #expect(metadata.responseModesSupported == ["query", "form_post"])
        #expect(metadata.codeChallengeMethodsSupported == ["S256"])
        #expect(metadata.authorizationResponseIssParameterSupported)
        #expect(metadata.pushedAuthorizationRequestEndpoint == "https://server.example.com/par")
        #expect(metadata.requirePushedAuthorizationRequests)
        let silent = try DiscoveryDocument(json(#"{"issuer":"i","require_pushed_authorization_requests":null}"#))
        #expect(!silent.authorizationResponseIssParameterSupported && !silent.requirePushedAuthorizationRequests)
    }

    @Test(arguments: [
        (#"{}"#, WireError.missing("issuer")),
        (#"{"issuer":"i","token_endpoint":1}"#, .wrongType("token_endpoint")),
        (#"{"issuer":"i","scopes_supported":"openid"}"#, .wrongType("scopes_supported")),
        (
            #"{"issuer":"i","authorization_response_iss_parameter_supported":"true"}"#,
            .wrongType("authorization_response_iss_parameter_supported")
        ),
        (
            #"{"issuer":"i","require_pushed_authorization_requests":1}"#,
            .wrongType("require_pushed_authorization_requests")
        ),
        (
            #"{"issuer":"i","pushed_authorization_request_endpoint":{}}"#,
            .wrongType("pushed_authorization_request_endpoint")
        ),
    ])
    func refusesMetadataOfWrongTypes(source: String, expected: WireError) {
        #expect(throws: expected) { try DiscoveryDocument(json(source)) }
    }

    /// No decision depends on them.
    @Test(arguments: [
        #"{"userinfo_endpoint":{}}"#, #"{"id_token_signing_alg_values_supported":"RS256"}"#, #"{"x":[1]}"#,
    ])
    func membersThatNobodyReadsMayBeAnything(source: String) throws {
        let document = JSONObject([("issuer", .string("i"))] + (try json(source)).members)
        #expect(try DiscoveryDocument(document).issuer == "i")
    }

    @Test func readsInstanceDiscovery() throws {
        let response = try InstanceDiscoveryResponse(
            json(
                #"""
                {"tenant_discovery_endpoint":"https://login.microsoftonline.com/t/v2.0/.well-known/openid-configuration",
                 "api-version":"1.1","metadata":[{"preferred_network":"login.microsoftonline.com",
                 "preferred_cache":"login.windows.net","aliases":["login.microsoftonline.com","login.windows.net"]}]}
                """#
            )
        )
        #expect(response.aliases == [["login.microsoftonline.com", "login.windows.net"]])
        #expect(throws: WireError.wrongType("metadata")) {
            try InstanceDiscoveryResponse(json(#"{"metadata":[1]}"#))
        }
        #expect(throws: WireError.wrongType("aliases")) {
            try InstanceDiscoveryResponse(json(#"{"metadata":[{"aliases":"h"}]}"#))
        }
    }

    @Test(
        arguments: [
            (#"{"metadata":[{"aliases":["h"]}]}"#, [["h"]]),
            (#"{"tenant_discovery_endpoint":1,"metadata":[{"preferred_cache":[],"aliases":["h"]}]}"#, [["h"]]),
            (#"{"metadata":[{"preferred_network":"h"}]}"#, [[]]), ("{}", []), (#"{"metadata":null}"#, []),
        ] as [(String, [[String]])]
    )
    func onlyAliasesTellTheCloudsOfAHost(source: String, expected: [[String]]) throws {
        #expect(try InstanceDiscoveryResponse(json(source)).aliases == expected)
    }

    @Test func readsClientInfoInEitherAlphabet() {
        let expected = ClientInfo(uid: "user", utid: "tenant")
        let encoded = Base64URL.encode(Array(#"{"uid":"user","utid":"tenant","ver":"1.0"}"#.utf8))
        #expect(ClientInfo.parse(encoded) == expected)
        #expect(ClientInfo.parse(encoded + "=") == expected)
    }

    @Test(arguments: [
        "", "{}", #"{"uid":"u"}"#, #"{"uid":"u","utid":""}"#, #"{"uid":1,"utid":"t"}"#, #"{"uid":"a\nb","utid":"t"}"#,
        #"{"uid":"u","uid":"v","utid":"t"}"#, "[]",
    ])
    func clientInfoThatSaysNothingIsAbsent(source: String) {
        #expect(ClientInfo.parse(Base64URL.encode(Array(source.utf8))) == nil)
        #expect(ClientInfo.parse(source) == nil)
    }
}
