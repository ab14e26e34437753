// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import OAuthWire

/// One call of the broker's D-Bus contract: the method and its request.
///
/// The contract is not documented. It was observed with the programs that talk to brokers; see
/// `Docs/decisions/0042-identity-broker.md`.
struct BrokerMessage: Hashable, Sendable {
    let method: String
    let request: JSONObject

    /// The request as JSON text.
    var text: String { String(decoding: request.serialized(), as: UTF8.self) }

    /// The version of the contract, the first argument of every method.
    static let protocolVersion = "0.0"
}

extension BrokerMessage {
    /// Asks for the accounts. The redirect URI is not checked there.
    static func accounts(_ client: BrokerClient) -> BrokerMessage {
        BrokerMessage(method: "getAccounts", request: client.members)
    }

    /// Asks for tokens of `account`, which is sent back as the broker gave it.
    static func silent(_ request: BrokerRequest, _ account: BrokerAccount, _ client: BrokerClient) -> BrokerMessage {
        BrokerMessage(
            method: "acquireTokenSilently",
            request: JSONObject([("authParameters", .object(parameters(request, account, client, .cachedRefreshToken)))]
            )
        )
    }

    /// Asks for tokens, and lets the broker ask the person.
    static func interactive(
        _ request: BrokerRequest,
        _ account: BrokerAccount?,
        _ client: BrokerClient
    ) -> BrokerMessage {
        BrokerMessage(
            method: "acquireTokenInteractively",
            request: JSONObject([("authParameters", .object(parameters(request, account, client, .interactive)))])
        )
    }

    static func removal(of account: BrokerAccount, _ client: BrokerClient) -> BrokerMessage {
        var request = client.members
        request["account"] = .object(account.members)
        return BrokerMessage(method: "removeAccount", request: request)
    }

    /// Ends the dialog of a call. The call's own correlation identifier names it.
    ///
    /// The request is not empty: version 3.0.2 ends itself when it gets an empty one.
    static func cancellation(_ client: BrokerClient, correlationID: String) -> BrokerMessage {
        var request = client.members
        request["correlationId"] = .string(correlationID)
        return BrokerMessage(method: "cancelInteractiveFlow", request: request)
    }

    /// Brokers of Microsoft's require the version of a library, which they only log.
    static let version = BrokerMessage(
        method: "getLinuxBrokerVersion",
        request: JSONObject([("msalCppVersion", .string("1.28.0"))])
    )

    /// The values of `authorizationType`. Brokers after 2.0.1 refuse another value than the method's.
    private enum AuthorizationType: Int {
        case cachedRefreshToken = 1
        case interactive = 6
    }

    private static func parameters(
        _ request: BrokerRequest,
        _ account: BrokerAccount?,
        _ client: BrokerClient,
        _ type: AuthorizationType
    ) -> JSONObject {
        // A person who is to choose an account is not told which.
        let isOpen = request.prompt == "select_account"
        let username = isOpen ? nil : request.loginHint ?? account?.username ?? request.account?.username
        let items = request.queryItems.sorted { $0.key < $1.key }.map { ($0.key, JSONValue.string($0.value)) }
        var parameters = JSONObject()
        if let account, !isOpen { parameters["account"] = .object(account.members) }
        parameters["additionalQueryParametersForAuthorization"] = .object(JSONObject(items))
        parameters["authority"] = .string(request.authority.url)
        parameters["authorizationType"] = .integer(type.rawValue)
        parameters["clientId"] = .string(client.clientID)
        parameters["redirectUri"] = .string(client.redirectURI)
        parameters["requestedScopes"] = .strings(request.scopes)
        if let username { parameters["username"] = .string(username) }
        parameters["uxContextHandle"] = .integer(-1)
        if let token = request.refusedToken { parameters["accessTokenToRenew"] = .string(token) }
        if let claims = request.claims { parameters["decodedClaims"] = .string(claims) }
        if let keyID = request.keyID { parameters["popParams"] = .object(proof(keyID)) }
        if let prompt = request.prompt { parameters["prompt"] = .string(prompt) }
        return parameters
    }

    /// Asks for a token that is bound to the program's own key. It is for any request to an API: method and host are for
    /// brokers that sign requests with a key of their own, and stay as FreeRDP sends them.
    private static func proof(_ keyID: String) -> JSONObject {
        JSONObject([
            ("authenticationScheme", .string("pop")), ("httpMethod", .string("GET")), ("kid", .string(keyID)),
            ("uriHost", .string("")),
        ])
    }
}

/// The program, as its registration names it.
struct BrokerClient: Hashable, Sendable {
    let clientID: String
    let redirectURI: String

    var members: JSONObject {
        JSONObject([("clientId", .string(clientID)), ("redirectUri", .string(redirectURI))])
    }
}
