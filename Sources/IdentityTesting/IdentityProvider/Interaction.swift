// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import OAuthWire

/// One visit of a browser to the authorization endpoint, until the browser is sent back.
struct Interaction: Sendable {
    var id: String
    var address: ProviderAddress
    var clientID: String
    var redirectURI: String
    var state: String?
    var scopes: [String]
    var nonce: String?
    var challenge: String?
    /// The key that the code will be bound to (`dpop_jkt`).
    var boundKey: String?
    var responseMode: String
    var prompts: Set<String>
    var maxAge: Int?
    var loginHint: String?
    /// Whether the answer may name another cloud.
    var isInstanceAware: Bool

    /// The username of the person who signed in during this visit.
    var signedIn: String?
    /// The username of the person whose password was correct and who still owes a second factor.
    var provedPassword: String?
    var choseAccount = false
    var consented = false
    /// The username of the person whose profile is being edited.
    var editing: String?
    /// Whether the page of the profile-editing policy is complete.
    var editedProfile = false
}

/// The defect of an authorization request, and whether the browser may be sent back with it.
enum AuthorizationFailure: Error {
    /// Shown to the person, because the redirect URI is not trusted (RFC 6749 §4.1.2.1).
    case page(String)
    case redirect(Interaction, Refusal)
}

extension Interaction {
    /// Reads an authorization request.
    ///
    /// - SeeAlso: [RFC 6749 §4.1.1](https://www.rfc-editor.org/rfc/rfc6749#section-4.1.1)
    init(_ request: ProviderCall, in state: ProviderState) throws(AuthorizationFailure) {
        guard request.isReadable, Set(request.parameters.map(\.0)).count == request.parameters.count else {
            throw .page("The request could not be read, or has a parameter twice.")
        }
        guard let clientID = request["client_id"], let client = state.clients[clientID] else {
            throw .page("The client is not known.")
        }
        guard let redirectURI = request["redirect_uri"], client.allows(redirectURI) else {
            throw .page("The redirect URI is not registered for this client.")
        }
        id = SecureRandom.token()
        self.address = request.address
        self.clientID = clientID
        self.redirectURI = redirectURI
        self.state = request["state"]
        scopes = (request["scope"] ?? "").split(separator: " ").map(String.init)
        nonce = request["nonce"]
        challenge = request["code_challenge"]
        boundKey = request["dpop_jkt"]
        responseMode = request["response_mode"] ?? "query"
        prompts = Set((request["prompt"] ?? "").split(separator: " ").map(String.init))
        maxAge = request["max_age"].flatMap { Int($0) }
        loginHint = request["login_hint"]
        isInstanceAware = request["instance_aware"] == "true"
        let refusal = refusal(request, in: state)
        if state.settings.forgetsResponseMode || !state.settings.responseModes.contains(responseMode) {
            responseMode = "query"
        }
        if let refusal { throw .redirect(self, refusal) }
    }

    private func refusal(_ request: ProviderCall, in state: ProviderState) -> Refusal? {
        if request["response_type"] != "code" {
            return Refusal("unsupported_response_type", "Only the response type code is offered.")
        }
        if !state.settings.responseModes.contains(responseMode) {
            return Refusal("invalid_request", "The response mode is not offered.")
        }
        if request["request"] != nil || request["request_uri"] != nil {
            return Refusal("request_not_supported", "Request objects are not offered.")
        }
        if challenge == nil && state.settings.requiresPKCE {
            return Refusal("invalid_request", "A code challenge is required.")
        }
        if !prompts.isSubset(of: ["none", "login", "consent", "select_account", "create"])
            || (prompts.contains("none") && prompts.count > 1)
        {
            return Refusal("invalid_request", "The prompt is not understood.")
        }
        do {
            try state.checkChallenge(challenge, request)
            try state.checkKnown(scopes)
            return nil
        } catch {
            return error
        }
    }
}
