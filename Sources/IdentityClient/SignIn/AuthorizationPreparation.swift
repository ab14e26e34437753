// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Logging
import OAuthWire

/// The preparation of an authorization request: checks every value in it and makes every random value anew.
///
/// - SeeAlso: [RFC 6749 §4.1.1](https://www.rfc-editor.org/rfc/rfc6749#section-4.1.1),
///   [RFC 7636 §4.3](https://www.rfc-editor.org/rfc/rfc7636#section-4.3),
///   [RFC 9700 §2.1.1](https://www.rfc-editor.org/rfc/rfc9700#section-2.1.1)
struct AuthorizationPreparation: Sendable {
    let environment: FlowEnvironment
    let parameters: InteractiveParameters
    let context: RequestContext
    let signIn: SignIn
    /// The prompt to request: the program's choice, or the choice that a previous sign-out requires.
    private let prompt: SignInPrompt

    private var authority: Authority { signIn.authority }
    private var metadata: ProviderMetadata { signIn.metadata }
    private var proof: TokenProof? { signIn.proof }

    init(environment: FlowEnvironment, parameters: InteractiveParameters, context: RequestContext) async throws {
        self.environment = environment
        self.parameters = parameters
        self.context = context
        signIn = try await SignIn(environment, context, parameters)
        prompt = try await PromptChoice(environment: environment, context: context).prompt(parameters, signIn.authority)
        guard metadata.codeChallengeMethods?.contains("S256") != false else {
            throw context.error(
                .unsupported,
                "The provider says that it does not support PKCE with S256; signing in there is not safe."
            )
        }
        try checkPushing()
    }

    /// The response mode to request.
    var responseMode: ResponseMode {
        if let mode = parameters.responseMode { return mode }
        guard environment.configuration.redirectReceiver.responseModes.contains(.formPost) else { return .query }
        // A browser posts no form to another program.
        if case .custom = environment.configuration.redirectURI.kind { return .query }
        let published = metadata.responseModes?.contains(ResponseMode.formPost.rawValue)
        return published ?? authority.isMicrosoft ? .formPost : .query
    }

    /// The configured redirect URI, with the host that this kind of authority expects.
    var redirectURI: RedirectURI {
        environment.configuration.redirectURI.resolved(for: authority)
    }

    func request(redirectURI: URL) async throws -> AuthorizationRequest {
        let consentScopes = try parameters.extraScopesToConsent.checked()
        let proofKey = ProofKey()
        var message = AuthorizationRequestMessage(
            clientID: environment.clientID,
            redirectURI: redirectURI.absoluteString,
            scopes: signIn.asked.appendingMissing(consentScopes),
            state: SecureRandom.token(),
            codeChallenge: proofKey.challenge
        )
        message.nonce = signIn.asked.contains("openid") ? SecureRandom.token() : nil
        message.responseMode = responseMode.rawValue
        message.prompt = prompt == .providerDefault ? nil : prompt.rawValue
        message.loginHint = try loginHint
        message.domainHint = try parameters.domainHint.map { try Self.text($0, "domain hint") }
        message.claims = signIn.claims
        message.maxAge = try maxAge
        message.acrValues = parameters.acrValues
        message.uiLocales = parameters.uiLocales
        message.correlationID = authority.isMicrosoft ? context.correlationID.uuidString.lowercased() : nil
        message.clientInfo = authority.hasHomeAccounts
        message.isInstanceAware = environment.clouds.areSeveral
        // A pushed request proves the key; in the address, its thumbprint stands for that.
        let thumbprint = pushEndpoint == nil ? proof?.dpop?.keyID : nil
        message.extra =
            authority.resourceItems + (thumbprint.map { [("dpop_jkt", $0)] } ?? [])
            + (try ExtraItems.checked(environment.itemsOfSignIn(parameters.extraQueryItems), at: authority))
        let address = try await address(for: message)
        environment.configuration.observer?.note(authorization: address.url, context.correlationID)
        return AuthorizationRequest(
            url: address.url,
            redirectURI: redirectURI,
            expiresOn: address.expiresOn,
            validUntil: environment.clock.now.addingTimeInterval(Double(parameters.timeout.components.seconds)),
            message: message,
            parameters: parameters,
            signIn: signIn,
            proofKey: proofKey
        )
    }

    /// The person to sign in: the program's login hint, otherwise the account's username if it can be sent.
    private var loginHint: String? {
        get throws {
            guard prompt != .selectAccount else { return nil }
            if let hint = parameters.loginHint { return try Self.text(hint, "login hint") }
            return parameters.account?.username.flatMap { ExtraItems.fits($0) ? $0 : nil }
        }
    }

    private var maxAge: Int? {
        get throws {
            guard let age = parameters.maxAge else { return nil }
            guard age >= .zero, age.components.seconds < 1 << 31 else {
                throw AuthenticationError(
                    .invalidArgument,
                    "The maximum age of the authentication is negative or too large."
                )
            }
            return Int(age.components.seconds)
        }
    }

    private static func text(_ text: String, _ what: String) throws -> String {
        guard ExtraItems.fits(text) else {
            throw AuthenticationError(.invalidArgument, "The \(what) is too long, or has control characters.")
        }
        return text
    }
}

extension SignIn {
    /// Makes the checks of a sign-in with a page.
    init(
        _ environment: FlowEnvironment,
        _ context: RequestContext,
        _ parameters: InteractiveParameters,
        key: Key? = nil
    ) async throws {
        self = try await SignIn(
            environment,
            context,
            at: parameters.authority,
            for: parameters.account,
            scopes: parameters.scopes,
            claims: parameters.claims,
            key: key ?? .new(parameters.scheme),
            requiresPersistence: parameters.requiresPersistence
        )
        try parameters.checkRequiredAuthentication(at: authority)
    }
}

extension RedirectURI {
    /// Returns the redirect URI with the spelling of the loopback host that the authority expects, if the program named
    /// none.
    func resolved(for authority: Authority) -> RedirectURI {
        guard case .loopback(nil, let ports, let path) = kind else { return self }
        return RedirectURI(kind: .loopback(host: authority.isMicrosoft ? .localhost : .ipv4, ports: ports, path: path))
    }
}

/// The choice of a prompt after a sign-out, if the program names none.
struct PromptChoice: Sendable {
    let environment: FlowEnvironment
    let context: RequestContext

    func prompt(_ parameters: InteractiveParameters, _ authority: Authority) async throws -> SignInPrompt {
        guard parameters.prompt == .providerDefault else { return parameters.prompt }
        let username = parameters.loginHint ?? parameters.account?.username
        let wanted = parameters.account.map { ($0.id as Account.ID?, username) } ?? username.map { (nil, $0) }
        do {
            let inUse = try await environment.accountsInUse.value()
            guard inUse.mustAsk(for: wanted, isSignedIn: try await isSignedIn(inUse.current)) else {
                return .providerDefault
            }
            return wanted == nil && authority.offersAccountSelection ? .selectAccount : .login
        } catch let error as AuthenticationError {
            // A cache that cannot be read does not prevent a sign-in.
            context.logger.debug(
                "Whether the sign-in is to ask could not be read",
                metadata: ["identity.error": "\(error.shortDescription)"]
            )
            return .providerDefault
        }
    }

    private func isSignedIn(_ account: AccountsInUse.Entry?) async throws -> Bool {
        guard let account else { return false }
        let accounts = try await environment.store.allSnapshots().snapshots.values
        return accounts.contains { $0.account.key == account.key }
    }
}

// The address for the browser: with the whole request or, once the request has been pushed to the provider, with a
// reference to it.
extension AuthorizationPreparation {
    /// Returns the address to open, and the time until which the provider accepts it, if the provider says so.
    ///
    /// - Throws: An error when the request has to be pushed and the provider does not accept it. The browser is then
    ///   not opened with the whole request, which would reveal what pushing hides.
    func address(for message: AuthorizationRequestMessage) async throws -> (url: URL, expiresOn: Date?) {
        guard let endpoint = pushEndpoint else { return (try url(with: message.items), nil) }
        let pushed = try await push(message, to: endpoint)
        return (
            try url(with: [("client_id", message.clientID), ("request_uri", pushed.requestURI)]),
            environment.clock.now.addingTimeInterval(Double(pushed.expiresIn))
        )
    }

    /// Throws if the provider accepts pushed requests only but publishes no endpoint for them.
    func checkPushing() throws {
        guard metadata.requiresPushedAuthorizationRequests, metadata.pushedAuthorizationRequestEndpoint == nil else {
            return
        }
        throw context.error(
            .unsupported,
            """
            The provider requires pushed authorization requests and publishes no pushed_authorization_request_endpoint. \
            Ask its administrator to publish it.
            """
        )
    }

    /// The endpoint to which the request is pushed; `nil` if it is not pushed.
    var pushEndpoint: String? {
        let isWanted = environment.configuration.compatibility.pushedAuthorizationRequests == .whenOffered
        return isWanted || metadata.requiresPushedAuthorizationRequests
            ? metadata.pushedAuthorizationRequestEndpoint : nil
    }

    /// - SeeAlso: [RFC 9126 §2](https://www.rfc-editor.org/rfc/rfc9126#section-2)
    private func push(
        _ message: AuthorizationRequestMessage,
        to endpoint: String
    ) async throws -> PushedAuthorizationResponse {
        let (response, body) = try await environment.client.post(
            message.items,
            to: endpoint,
            secretIn: metadata.clientSecretPlace,
            provenBy: proof?.dpop,
            context: context,
            authority: authority
        )
        let now = environment.clock.unixSeconds
        let own = parameters.scopes.union(parameters.extraScopesToConsent)
        let json = try EndpointOutcome<JSONObject>(response, body, grant: nil, now: now, context: context)
            .members(asking: message.scopes, beyond: own)
        do {
            return try PushedAuthorizationResponse(json)
        } catch {
            throw context.error(
                .malformedResponse,
                """
                The provider's answer to the pushed authorization request cannot be used: \(error). Sign-ins fail until \
                the provider corrects this. Tell its administrator.
                """
            )
        }
    }

    private func url(with items: [(String, String)]) throws -> URL {
        try URL.forBrowser("authorization address", at: metadata.authorizationEndpoint, with: items)
    }
}
