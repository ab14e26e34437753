// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire
import Testing

@Suite struct RequestTests {
    /// RFC 7636 appendix B.
    @Test func challengeIsThatOfTheSpecification() {
        let key = ProofKey(verifier: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
        #expect(key.challenge == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM")
        #expect(ProofKey.challenge(for: key.verifier) == key.challenge)
    }

    @Test func proofKeysAreFreshAndDoNotShowTheirVerifier() {
        let key = ProofKey()
        #expect(key.verifier.utf8.count == 43)
        #expect(ProofKey().verifier != key.verifier)
        var dumped = ""
        dump(key, to: &dumped)
        #expect(!"\(key) \(String(reflecting: key)) \(dumped)".contains(key.verifier))
    }

    /// RFC 6749 §4.1.1 with RFC 7636 §4.3.
    @Test func authorizationRequestIsStable() throws {
        let message = AuthorizationRequestMessage(
            clientID: "s6BhdRkqt3",
            redirectURI: "https://client.example.com/cb",
            scopes: ["openid", "mail read"],
            state: "xyz",
            codeChallenge: "ch"
        )
        let url = try FormURLEncoded.appending(message.items, to: "https://server.example.com/authorize")
        #expect(
            url == "https://server.example.com/authorize?client_id=s6BhdRkqt3&response_type=code"
                + "&redirect_uri=https%3A%2F%2Fclient.example.com%2Fcb&scope=openid%20mail%20read&state=xyz"
                + "&code_challenge=ch&code_challenge_method=S256"
        )
    }

    @Test func authorizationRequestCarriesEveryParameterOnce() {
        var message = AuthorizationRequestMessage(
            clientID: "c",
            redirectURI: "r",
            scopes: ["s"],
            state: "st",
            codeChallenge: "ch"
        )
        message.nonce = "n"
        message.responseMode = "form_post"
        message.prompt = "login"
        message.loginHint = "me"
        message.domainHint = "d"
        message.claims = "{}"
        message.maxAge = 0
        message.acrValues = ["a1", "a2"]
        message.uiLocales = ["de", "en"]
        message.correlationID = "id"
        message.clientInfo = true
        message.extra = [("display", "page"), ("state", "forged"), ("client_secret", "x")]
        #expect(
            lines(message.items) == [
                "client_id=c", "response_type=code", "redirect_uri=r", "scope=s", "state=st", "nonce=n",
                "code_challenge=ch", "code_challenge_method=S256", "response_mode=form_post", "prompt=login",
                "login_hint=me", "domain_hint=d", "claims={}", "max_age=0", "acr_values=a1 a2", "ui_locales=de en",
                "client-request-id=id", "client_info=1", "display=page",
            ]
        )
        let own = Set(message.items.map(\.0)).subtracting(["display"])
        #expect(own.isSubset(of: AuthorizationRequestMessage.reservedNames))
    }

    /// RFC 6749 §4.1.3 and §6, RFC 8628 §3.4, RFC 7009 §2.1.
    @Test func formBodiesAreThoseOfTheSpecifications() {
        #expect(
            FormURLEncoded.encode(
                TokenRequestMessage.authorizationCode(
                    clientID: "c",
                    code: "SplxlOBeZQQYbYS6WxSbIA",
                    redirectURI: "https://client.example.com/cb",
                    codeVerifier: "v"
                )
            ) == "client_id=c&grant_type=authorization_code&code=SplxlOBeZQQYbYS6WxSbIA"
                + "&redirect_uri=https%3A%2F%2Fclient.example.com%2Fcb&code_verifier=v"
        )
        #expect(
            lines(
                TokenRequestMessage.refreshToken(
                    clientID: "c",
                    refreshToken: "tGzv3JOkF0XG5Qx2TlKWIA",
                    scopes: ["a", "b"],
                    claims: "{}",
                    clientInfo: true
                )
            ) == [
                "client_id=c", "grant_type=refresh_token", "refresh_token=tGzv3JOkF0XG5Qx2TlKWIA", "scope=a b",
                "claims={}", "client_info=1",
            ]
        )
        #expect(
            FormURLEncoded.encode(TokenRequestMessage.deviceCode(clientID: "1406020730", deviceCode: "GmRhmhcxh"))
                == "client_id=1406020730&grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Adevice_code"
                + "&device_code=GmRhmhcxh"
        )
        #expect(
            lines(DeviceAuthorizationRequestMessage.items(clientID: "c", scopes: ["s"], claims: ""))
                == ["client_id=c", "scope=s"]
        )
        // RFC 7636 §4.3 and §4.5, for a device
        #expect(
            lines(DeviceAuthorizationRequestMessage.items(clientID: "c", scopes: [], codeChallenge: "ch"))
                == ["client_id=c", "code_challenge=ch", "code_challenge_method=S256"]
        )
        #expect(
            lines(TokenRequestMessage.deviceCode(clientID: "c", deviceCode: "d", codeVerifier: "v")).dropFirst(2)
                == ["device_code=d", "code_verifier=v"]
        )
        #expect(
            lines(RevocationRequestMessage.items(clientID: "c", token: "t"))
                == ["client_id=c", "token=t", "token_type_hint=refresh_token"]
        )
    }

    /// RFC 8693 §2.3 and §2.1; `resource` and `audience` may be repeated.
    @Test func anExchangeIsThatOfTheSpecification() {
        let type = "urn:ietf:params:oauth:token-type:"
        let form = TokenRequestMessage.tokenExchange(
            clientID: "c",
            subject: ("accVkjcJyb4BWCxGsndESCJQbdFMogUC5PbRDqceLTC", type + "access_token"),
            resources: ["https://backend.example.com/api"]
        )
        #expect(
            FormURLEncoded.encode(form)
                == "client_id=c&grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange"
                + "&resource=https%3A%2F%2Fbackend.example.com%2Fapi"
                + "&subject_token=accVkjcJyb4BWCxGsndESCJQbdFMogUC5PbRDqceLTC"
                + "&subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token"
        )
        let full = TokenRequestMessage.tokenExchange(
            clientID: "c",
            subject: ("s", "st"),
            actor: ("a", "at"),
            requestedType: "rt",
            audiences: ["u", "v"],
            scopes: ["x", "y"]
        )
        #expect(
            lines(full).dropFirst(2) == [
                "audience=u", "audience=v", "requested_token_type=rt", "subject_token=s", "subject_token_type=st",
                "actor_token=a", "actor_token_type=at", "scope=x y",
            ]
        )
    }

    @Test(
        arguments: [
            (nil, [], nil),
            ("", [], nil),
            (nil, ["cp1"], #"{"access_token":{"xms_cc":{"values":["cp1"]}}}"#),
            (#"{ "userinfo" : {} }"#, [], #"{ "userinfo" : {} }"#),
            (
                #"{"userinfo":{"a":null},"access_token":{"nbf":{"essential":true}}}"#, ["cp1"],
                #"{"userinfo":{"a":null},"access_token":{"nbf":{"essential":true},"xms_cc":{"values":["cp1"]}}}"#
            ),
            (
                #"{"access_token":{"xms_cc":{"essential":true,"values":["cp0","cp1"]}}}"#, ["cp1", "cp2"],
                #"{"access_token":{"xms_cc":{"essential":true,"values":["cp0","cp1","cp2"]}}}"#
            ),
            (#"{"access_token":null}"#, ["cp1"], #"{"access_token":{"xms_cc":{"values":["cp1"]}}}"#),
            (#"{"access_token":{"xms_cc":null}}"#, ["cp1"], #"{"access_token":{"xms_cc":{"values":["cp1"]}}}"#),
        ] as [(String?, [String], String?)]
    )
    func claimsAndCapabilitiesMerge(claims: String?, capabilities: [String], expected: String?) throws {
        #expect(try ClaimsParameterText.merging(claims: claims, capabilities: capabilities) == expected)
    }

    @Test(arguments: [
        "not json", "[]", #"{"a":1,"a":2}"#, #"{"access_token":1}"#, #"{"access_token":{"xms_cc":"secret"}}"#,
        #"{"access_token":{"xms_cc":{"values":"secret"}}}"#, #"{"access_token":{"xms_cc":{"values":[1]}}}"#,
        #"{"access_token":{"xms_cc":{"value":"secret"}}}"#,
    ])
    func claimsThatCannotMergeAreRefusedWithoutQuotingThem(claims: String) {
        let error = #expect(throws: WireError.self) {
            try ClaimsParameterText.merging(claims: claims, capabilities: ["cp1"])
        }
        #expect(error?.description.contains("secret") == false)
    }
}
