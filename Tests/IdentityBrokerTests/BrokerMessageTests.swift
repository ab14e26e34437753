// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import OAuthWire
import Testing

@testable import IdentityBroker

@Suite struct BrokerMessageTests {
    private static func request(_ change: (inout BrokerRequest) -> Void = { _ in }) throws -> BrokerRequest {
        var request = BrokerRequest(
            clientID: "00001111-aaaa-2222-bbbb-3333cccc4444",
            authority: try .entra(.tenant("contoso.example")),
            scopes: ["User.Read"],
            correlationID: BrokerFixtures.correlationID
        )
        change(&request)
        return request
    }

    private static func account() throws -> BrokerAccount {
        try #require(try BrokerFixtures.reply(BrokerFixtures.accounts).accounts().first)
    }

    @Test func asksSilentlyForOneAccount() throws {
        let request = try Self.request {
            $0.claims = #"{"access_token":{"nbf":{"essential":true}}}"#
            $0.refusedToken = "old"
        }
        let message = BrokerMessage.silent(request, try Self.account(), BrokerFixtures.client)
        let parameters = try #require(message.request.object("authParameters"))
        #expect(message.method == "acquireTokenSilently")
        #expect(parameters.integer("authorizationType") == 1)
        #expect(parameters.string("authority") == "https://login.microsoftonline.com/contoso.example/")
        #expect(parameters.string("redirectUri") == BrokerFixtures.client.redirectURI)
        #expect(parameters.strings("requestedScopes") == ["User.Read"])
        #expect(parameters.string("username") == "alice@contoso.example")
        #expect(parameters.object("account") == (try Self.account().members))
        #expect(parameters.integer("uxContextHandle") == -1)
        #expect(parameters.string("accessTokenToRenew") == "old")
        #expect(parameters.string("decodedClaims") == request.claims)
    }

    @Test func asksThePersonWithTheTypeThatBrokersEnforce() throws {
        let request = try Self.request {
            $0.loginHint = "bob@contoso.example"
            $0.queryItems = ["domain_hint": "contoso.example"]
        }
        let message = BrokerMessage.interactive(request, nil, BrokerFixtures.client)
        let parameters = try #require(message.request.object("authParameters"))
        #expect(parameters.integer("authorizationType") == 6)
        #expect(parameters.string("username") == "bob@contoso.example")
        #expect(parameters["account"] == nil)
        let items = parameters.object("additionalQueryParametersForAuthorization")
        #expect(items?.string("domain_hint") == "contoso.example")
    }

    @Test func namesTheKeyOfABoundToken() throws {
        let request = try Self.request { $0.keyID = "k1" }
        let silent = BrokerMessage.silent(request, try Self.account(), BrokerFixtures.client)
        for message in [silent, .interactive(request, nil, BrokerFixtures.client)] {
            let proof = try #require(message.request.object("authParameters")?.object("popParams"))
            #expect(proof.string("authenticationScheme") == "pop" && proof.string("kid") == "k1")
            #expect(proof.string("httpMethod") == "GET" && proof.string("uriHost") == "")
        }
        let bearer = BrokerMessage.interactive(try Self.request(), nil, BrokerFixtures.client)
        #expect(bearer.request.object("authParameters")?["popParams"] == nil)
    }

    @Test func namesNobodyWhereThePersonChooses() throws {
        let request = try Self.request {
            $0.prompt = "select_account"
            $0.loginHint = "alice@contoso.example"
        }
        let message = BrokerMessage.interactive(request, try Self.account(), BrokerFixtures.client)
        let parameters = try #require(message.request.object("authParameters"))
        #expect(parameters["account"] == nil && parameters["username"] == nil)
        #expect(parameters.string("prompt") == "select_account")
    }

    @Test func cancelsWithARequestThatIsNotEmpty() {
        let message = BrokerMessage.cancellation(BrokerFixtures.client, correlationID: "c")
        #expect(message.text.contains(#""correlationId":"c""#))
    }
}
