// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Logging
import OAuthWire

/// The flow that turns the provider's redirect into tokens.
struct AuthorizationCodeFlow: Sendable {
    let environment: FlowEnvironment
    let context: RequestContext

    /// Returns the content of the redirect, if it answers `request`.
    ///
    /// - Returns: `nil` if it answers another request or none: the wait goes on.
    func response(in redirect: String, to request: AuthorizationRequest) throws -> AuthorizationResponse? {
        let address = RedirectAddress(redirect)
        let isAwaited = request.isAnswered(byStates: address.states)
        environment.configuration.capture?.note(redirect: address.items, isAwaited: isAwaited, context.correlationID)
        guard isAwaited else { return nil }
        do {
            return try AuthorizationResponse.parse(query: address.items)
        } catch {
            throw AuthenticationError(
                .malformedResponse,
                "The provider's redirect could not be read: \(error).",
                correlationID: context.correlationID
            )
        }
    }

    /// Checks the issuer, redeems the code, validates the tokens and stores them.
    func finish(_ response: AuthorizationResponse, to request: AuthorizationRequest) async throws
        -> AuthenticationResult
    {
        try request.markAnswered()
        try checkIssuer(response, request)
        try checkCloud(response, request)
        let code: String
        switch response.outcome {
        case .code(let value): code = value
        case .error(let words):
            throw OAuthErrorMapping.error(words, status: nil, grant: nil, context: context)
                .naming(request.scopes, beyond: request.parameters.scopes)
        }
        let isNamed = request.authority.isMicrosoft
        let form = TokenRequestMessage.authorizationCode(
            clientID: environment.clientID,
            code: code,
            redirectURI: request.redirectURI,
            codeVerifier: request.proofKey.verifier,
            scopes: isNamed ? request.scopes : [],
            claims: isNamed ? request.claims : nil,
            clientInfo: request.authority.hasHomeAccounts
        )
        let endpoint = TokenEndpoint(environment, request.authority, request.metadata, context)
        let answer: TokenResponse
        do {
            answer = try await endpoint.redeem(
                form + (request.proof?.binding.parameters ?? []),
                grant: .authorizationCode
            )
        } catch let error as AuthenticationError {
            throw error.naming(request.scopes, beyond: request.parameters.scopes)
        }
        let commit = SignInCommit(
            environment: environment,
            context: context,
            authority: request.authority,
            metadata: request.metadata,
            wanted: request.parameters.account,
            scopes: request.parameters.scopes,
            proof: request.proof
        )
        return try await commit.run(
            answer,
            asked: request.scopes,
            nonce: request.nonce,
            claims: request.claims,
            required: request.parameters.requiredAuthentication,
            maxAge: request.maxAge
        )
    }

    /// - SeeAlso: [RFC 9207 §2.4](https://www.rfc-editor.org/rfc/rfc9207#section-2.4)
    private func checkIssuer(_ response: AuthorizationResponse, _ request: AuthorizationRequest) throws {
        guard let expected = request.metadata.issuer else { return }
        // Deviation: Entra's published issuer is a template, and it names no issuer in its responses.
        if case .entra = request.authority.kind, !request.metadata.namesIssuerInResponse { return }
        // Deviation: django-oauth-toolkit and others announce `iss` and leave it out of error responses.
        let mayBeMissing = if case .error = response.outcome { true } else { !request.metadata.namesIssuerInResponse }
        let names = { (issuer: String) in
            if WireText.areSame(issuer, expected) { return true }
            // Deviation: glewlwyd escapes the values of its form posts twice.
            guard request.isAnsweredByForm, let decoded = PercentEncoding.decode(issuer) else { return false }
            return WireText.areSame(decoded, expected)
        }
        guard response.issuer.map(names) ?? mayBeMissing else {
            throw AuthenticationError(
                .issuerMismatch,
                "The answer comes from another provider than the one that was asked (iss). Nothing was sent to it.",
                correlationID: context.correlationID
            )
        }
    }
}

// The clouds of Entra ID.
extension AuthorizationCodeFlow {
    /// Throws if the person's account belongs to another cloud, where this program's code cannot be redeemed.
    ///
    /// The redirect can be forged, so that it only names a cloud and never makes this program send anything there.
    private func checkCloud(_ response: AuthorizationResponse, _ request: AuthorizationRequest) throws {
        guard environment.configuration.isInstanceAware, let named = response.cloudHost?.lowercased(),
            let authority = request.authority.inCloud(of: named), authority.partition != request.authority.partition
        else { return }
        guard CloudInstances.isKnown(named) || environment.configuration.knownHosts.contains(named) else {
            throw AuthenticationError(
                .untrustedAuthority,
                """
                The answer names '\(WireText.clean(named).prefix(100))' as the cloud of the account, which is not a known cloud of \
                Microsoft. Nothing was sent there. If it is one, add it to the known hosts.
                """,
                correlationID: context.correlationID
            )
        }
        throw AuthenticationError(
            .accountInAnotherCloud,
            "This account belongs to another cloud: sign in at \(authority.url), with this program's registration there.",
            redirectedAuthority: authority,
            correlationID: context.correlationID
        )
    }
}
