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
        environment.configuration.observer?.note(redirect: address.items, isAwaited: isAwaited, context.correlationID)
        guard isAwaited else { return nil }
        do {
            return try AuthorizationResponse.parse(query: address.items)
        } catch {
            throw context.error(.malformedResponse, "The provider's redirect could not be read: \(error).")
        }
    }

    /// Checks the issuer, redeems the code, validates the tokens and stores them.
    func finish(_ response: AuthorizationResponse, to request: AuthorizationRequest) async throws
        -> AuthenticationResult
    {
        try request.markAnswered()
        let (authority, metadata) = try await issuer(of: response, to: request)
        try checkIssuer(response, request, authority, metadata)
        let code: String
        switch response.outcome {
        case .code(let value): code = value
        case .error(let words):
            throw OAuthErrorMapping.error(words, status: nil, grant: nil, context: context)
                .naming(request.signIn.asked, beyond: request.signIn.scopes)
        }
        // The application object that finishes the sign-in may be another than the one that prepared it.
        var signIn = request.signIn
        (signIn.environment, signIn.context) = (environment, context)
        (signIn.authority, signIn.metadata) = (authority, metadata)
        let form = TokenRequestMessage.authorizationCode(
            clientID: environment.clientID,
            code: code,
            redirectURI: request.redirectURI.absoluteString,
            codeVerifier: request.proofKey.verifier,
            scopes: signIn.repeated.scopes,
            claims: signIn.repeated.claims,
            clientInfo: authority.hasHomeAccounts
        )
        let answer: TokenResponse
        do {
            answer = try await signIn.endpoint.redeem(form, grant: .authorizationCode)
        } catch let error as AuthenticationError {
            throw error.naming(signIn.asked, beyond: signIn.scopes)
        }
        return try await signIn.finish(
            answer,
            nonce: request.nonce,
            required: request.parameters.requiredAuthentication,
            maxAge: request.maxAge
        )
    }

    /// Checks that the answer comes from the provider that its code goes to.
    ///
    /// - SeeAlso: [RFC 9207 §2.4](https://www.rfc-editor.org/rfc/rfc9207#section-2.4)
    private func checkIssuer(
        _ response: AuthorizationResponse,
        _ request: AuthorizationRequest,
        _ authority: Authority,
        _ metadata: ProviderMetadata
    ) throws {
        guard let expected = metadata.issuer else { return }
        // Deviation: Entra's published issuer is a template, and it names no issuer in its responses.
        if case .entra = authority.kind, !metadata.namesIssuerInResponse {
            guard let issuer = response.issuer, authority != request.signIn.authority else { return }
            guard authority.accepts(publishedIssuer: issuer) else { throw issuerMismatch() }
            return
        }
        // Deviation: django-oauth-toolkit and others announce `iss` and leave it out of error responses.
        let mayBeMissing = if case .error = response.outcome { true } else { !metadata.namesIssuerInResponse }
        let names = { (issuer: String) in
            if WireText.areSame(issuer, expected) { return true }
            // Deviation: glewlwyd escapes the values of its form posts twice.
            guard request.comesByForm, let decoded = PercentEncoding.decode(issuer) else { return false }
            return WireText.areSame(decoded, expected)
        }
        guard let issuer = response.issuer else {
            guard !mayBeMissing else { return }
            throw context.error(
                .invalidResponse,
                """
                The answer does not name its provider (iss), although the provider announces that its answers do \
                (authorization_response_iss_parameter_supported), so it may be another provider's. Nothing was sent. Ask the \
                provider's administrator to correct one of the two.
                """
            )
        }
        guard names(issuer) else { throw issuerMismatch() }
    }

    private func issuerMismatch() -> AuthenticationError {
        context.error(
            .invalidResponse,
            "The answer comes from another provider than the one that was asked (iss). Nothing was sent to it."
        )
    }
}

// The clouds of Entra ID.
extension AuthorizationCodeFlow {
    /// Returns the provider that issued the code: the one that was asked, or the cloud of the person's account, which the
    /// answer names. The code goes to no other host than that of a trusted cloud.
    private func issuer(
        of response: AuthorizationResponse,
        to request: AuthorizationRequest
    ) async throws -> (Authority, ProviderMetadata) {
        let asked = (request.signIn.authority, request.signIn.metadata)
        guard case .code = response.outcome, let host = response.cloudHost, asked.0.hasTenants else { return asked }
        let clouds = environment.clouds
        guard let authority = clouds.authority(asked.0, at: host) else {
            // Without having been asked, the provider names no cloud.
            guard clouds.areSeveral else { return asked }
            throw context.error(
                .untrustedAuthority,
                """
                The answer names \(WireText.quoted(host, upTo: 100)) as the cloud of the account, which is not a known cloud of \
                Microsoft. Nothing was sent there. If it is one, add it to the known hosts.
                """
            )
        }
        guard authority.partition != asked.0.partition else { return asked }
        guard clouds.areSeveral else {
            throw context.error(
                .accountInAnotherCloud,
                "This account belongs to another cloud: sign in at \(authority.url), with this program's registration there.",
                redirectedAuthority: authority
            )
        }
        if let wanted = request.parameters.account {
            throw context.error(
                .accountMismatch,
                """
                A person of another cloud (\(authority.environment)) signed in, but \(WireText.quoted(wanted.username ?? wanted.id.rawValue)) \
                was requested. Nothing was stored. Sign in again with the requested account.
                """
            )
        }
        context.logger.debug(
            "The account belongs to another cloud, where the sign-in goes on",
            metadata: ["identity.address": "\(authority.url)"]
        )
        return (authority, try await environment.resolver.metadata(for: authority, context: context))
    }
}
