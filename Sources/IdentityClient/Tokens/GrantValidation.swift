// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

package import OAuthWire
import SystemSupport

/// Decides whether a token response is believed, and what it says about the person.
struct GrantValidation: Sendable {
    let environment: FlowEnvironment
    let context: RequestContext

    /// Decides about the response to an authorization code. An OpenID Connect provider must name the person.
    ///
    /// - Parameters:
    ///   - subject: The `sub` that the ID token must repeat, if it is known.
    ///   - checksTimes: Whether the ID token must not have expired.
    ///   - binding: The key that the access token was requested for.
    func signInGrant(
        _ response: TokenResponse,
        authority: Authority,
        metadata: ProviderMetadata,
        nonce: String?,
        essentialACR: [String]? = nil,
        required: RequiredAuthentication = RequiredAuthentication(),
        maxAge: Int?,
        subject: String? = nil,
        checksTimes: Bool = true,
        binding: TokenBinding? = nil,
        requestedScopes: [String]
    ) async throws -> TokenGrant {
        let response = response.read(at: authority, asked: requestedScopes)
            .namingScopes(as: requestedScopes, at: authority)
        let certificateEnd = try check(response, binding)
        var claims: IDTokenClaims?
        if let idToken = response.idToken {
            var expectation = expectation(authority, metadata, response)
            expectation.nonce = nonce
            expectation.essentialACR = essentialACR
            expectation.maxAge = maxAge
            expectation.subject = subject
            expectation.checksTimes = checksTimes
            claims = try await environment.verifier.claims(
                of: idToken,
                expecting: expectation,
                metadata: metadata,
                context: context
            )
        } else if authority.issuesIDTokens {
            throw IDTokenExpectation.refused("there is none, although openid was asked for")
        }
        guard required.isMet(by: claims) else { throw insufficientAuthentication(required) }
        let clientInfo = response.clientInfo.flatMap(ClientInfo.parse)
        if let claims, let clientInfo, authority.hasHomeAccounts, !claims.mayBe(about: clientInfo, at: authority) {
            throw IDTokenExpectation.refused("it is about another person than client_info (oid, tid)")
        }
        let identity =
            AccountIdentity(
                authority: authority,
                clientInfo: clientInfo,
                issuer: claims?.issuer,
                subject: claims?.subject
            ) ?? AccountIdentity(anonymousAt: authority, nonce: SecureRandom.token(bytes: 16))
        let profile = claims.flatMap { claims in
            response.idToken.map {
                CachedProfile(claims, idToken: $0, authority: authority, homeTenant: identity.homeTenant)
            }
        }
        return TokenGrant(
            response: response,
            requestedScopes: requestedScopes,
            identity: identity,
            profile: profile,
            realm: profile?.realm ?? authority.realm,
            authorityTenant: authority.tenant,
            rule: authority.scopeRule,
            binding: binding,
            certificateEnd: certificateEnd,
            parameterTag: environment.parameterTag,
            unstatedLifetime: TokenGrant.unstatedLifetime(of: response, authority)
        )
    }

    func expectation(
        _ authority: Authority,
        _ metadata: ProviderMetadata,
        _ response: TokenResponse
    ) -> IDTokenExpectation {
        var expectation = IDTokenExpectation(
            authority: authority,
            publishedIssuer: metadata.issuer,
            clientID: environment.clientID
        )
        expectation.accessToken = response.accessToken
        expectation.skew = environment.configuration.compatibility.clockTolerance.components.seconds
        return expectation
    }

    /// Checks the access token's audience and type, and an SSH certificate.
    ///
    /// - Returns: The end of the certificate, in Unix seconds; `nil` for another token.
    func check(_ response: TokenResponse, _ binding: TokenBinding?) throws -> Int64? {
        if let fault = response.fault { throw AuthenticationError.malformed("\(fault)", context) }
        guard let accessToken = response.accessToken else {
            throw unusable(
                """
                The provider issued an ID token and no access token. Request a scope of the API that you call: some \
                providers issue no access token without one.
                """
            )
        }
        if environment.configuration.checksAudience, let resource = environment.configuration.authority.resource {
            try TokenAudience.check(accessToken, for: resource)
        }
        guard let tokenType = response.tokenType else {
            throw unusable(
                """
                The provider does not state the type of its access token (token_type), so the token cannot be used. Ask \
                the provider to send it: RFC 6749 §5.1 requires it.
                """
            )
        }
        if let binding {
            guard tokenType.lowercased() == binding.scheme.description.lowercased() else {
                throw context.error(
                    .unsupported,
                    binding.scheme.sshKey == nil
                        ? """
                        The provider gave an access token that is not bound to the program's key, so it is not used. Use bearer \
                        tokens, or ask the provider's administrator for \(binding.scheme).
                        """
                        : """
                        The provider gave another token in place of an SSH certificate, so it is not used. Ask for the scope \
                        of SSH certificates, with a client that may have them, such as Azure CLI.
                        """
                )
            }
            return try binding.scheme.sshKey.map { try certificateEnd(accessToken, for: $0) }
        }
        guard tokenType.lowercased() == "bearer" else {
            throw unusable(
                """
                The provider gave an access token of another type than Bearer, which this library cannot use. Configure \
                the client there for Bearer tokens.
                """
            )
        }
        return nil
    }

    /// The error of a sign-in in which the person did not authenticate as the program requires.
    private func insufficientAuthentication(_ required: RequiredAuthentication) -> AuthenticationError {
        context.error(
            .insufficientUserAuthentication,
            """
            The person did not authenticate in the way that the program requires (acr, amr). Nothing was stored. Sign in \
            again, and choose another method on the sign-in page.
            """,
            challenge: ResourceChallenge(acrValues: required.acrValues ?? [])
        )
    }

    private func unusable(_ message: String) -> AuthenticationError {
        context.error(.malformedResponse, message)
    }
}

extension AuthenticationError {
    /// The account was signed out while its tokens were on the way.
    static func removed(_ context: RequestContext) -> AuthenticationError {
        context.error(.accountRemoved, "The account was signed out: sign in interactively.")
    }
}

extension IDTokenClaims {
    /// Whether `client_info` may name the same person. The person has the same identifier in both in the home tenant.
    /// The identifier in another tenant cannot be compared.
    fileprivate func mayBe(about info: ClientInfo, at authority: Authority) -> Bool {
        guard let oid, let tid, WireText.areSame(tid.lowercased(), info.utid.lowercased()) else { return true }
        return WireText.areSame(authority.objectID(fromUID: info.uid.lowercased()), oid.lowercased())
    }
}

extension CachedProfile {
    init(_ claims: IDTokenClaims, idToken: String, authority: Authority, homeTenant: String?) {
        let realm = authority.tenantOfToken(claims)
        self.init(
            realm: realm,
            localAccountID: claims.oid ?? claims.subject,
            username: claims.username,
            name: claims.name,
            policy: authority.policy,
            isHomeTenant: homeTenant.map { $0 == realm.lowercased() } ?? true,
            idToken: idToken
        )
    }
}

// Deviations of individual servers, most of them plain OAuth 2.0.
extension TokenResponse {
    /// Returns the response as it counts at `authority`. Plain OAuth 2.0 has no ID tokens, and each server writes
    /// scopes in its own way.
    ///
    /// An ID token is ignored like any unknown member (RFC 6749 §5.1), because there are no keys to verify it with.
    /// LinkedIn's ID token has no nonce, so LinkedIn cannot be used as an OpenID Connect provider.
    ///
    /// Deviation: LinkedIn leaves `token_type` out, Apigee writes `BearerToken`, and Slack `bot` or `user`. Their access
    /// tokens count as Bearer tokens.
    ///
    /// Deviation: VK and servers that are made with Spring Security OAuth write a lifetime of 0 or -1 for a token that
    /// does not expire. It counts as not stated.
    ///
    /// Deviation: GitHub separates scopes by commas. A scope may itself contain a comma (RFC 6749 §3.3), so commas
    /// separate only if no requested scope contains one.
    func read(at authority: Authority, asked: [String]) -> TokenResponse {
        guard !authority.issuesIDTokens else { return self }
        var response = self
        response.idToken = nil
        response.expiresIn = expiresIn.flatMap { $0 > 0 ? $0 : nil }
        if fault == nil, ["bearertoken", "bot", "user"].contains(tokenType?.lowercased() ?? "bot") {
            response.tokenType = "Bearer"
        }
        if !asked.contains(where: { $0.utf8.contains(UInt8(ascii: ",")) }) {
            // A comma before a combining mark is a comma, although it is no character of its own.
            response.scopes = scopes?.flatMap { $0.unicodeScalars.split(separator: ",").map { String($0) } }
        }
        return response
    }
}

extension TokenGrant {
    /// The lifetime of a sign-in's access token if the server states none, in seconds.
    ///
    /// Deviation: GitHub's tokens for OAuth apps never expire, and come without `expires_in` and without a refresh
    /// token. With a lifetime of an hour, the person would have to sign in again while the token is still good. So the
    /// token is kept until the resource answers 401.
    static func unstatedLifetime(of response: TokenResponse, _ authority: Authority) -> Int {
        authority.issuesIDTokens || response.refreshToken != nil ? usualLifetime : JSONObject.maximumDuration
    }
}

extension GrantValidation {
    /// Checks that an answer is an SSH certificate for the key that was sent, and valid now.
    ///
    /// Its signature is not verified: only a server knows whose certificates it accepts.
    ///
    /// - Returns: The certificate's end, in Unix seconds.
    func certificateEnd(_ text: String, for key: SSHRSAKey) throws -> Int64 {
        let certificate: SSHUserCertificate
        do {
            certificate = try SSHUserCertificate(base64: text)
        } catch { throw AuthenticationError.malformed("\(error)", context) }
        guard certificate.key == key else {
            throw refused("The provider's SSH certificate is for another key. It is not used.")
        }
        let now = environment.clock.unixSeconds
        let skew = environment.configuration.compatibility.clockTolerance.components.seconds
        let (start, end) = (Int64(clamping: certificate.validAfter), Int64(clamping: certificate.validBefore))
        guard start <= now + skew else {
            throw refused("The provider's SSH certificate is not valid yet. Set this computer's clock.")
        }
        guard end > now else {
            throw refused("The provider's SSH certificate has expired already. Set this computer's clock.")
        }
        return end
    }

    private func refused(_ message: String) -> AuthenticationError {
        context.error(.malformedResponse, message)
    }
}

extension GrantValidation {
    static var keysTimedOut: AuthenticationError {
        AuthenticationError(.networkTimedOut, "The keys could not be had in time.")
    }

    /// Fetches the keys that most ID tokens are verified with, unless fresh ones are kept.
    ///
    /// - Returns: The error if the keys could not be fetched.
    func fetchKeys(_ metadata: ProviderMetadata, of authority: Authority) async -> AuthenticationError? {
        guard let url = metadata.jwksURLs(for: environment.clientID, of: authority).first else { return nil }
        do {
            try await withDeadline(environment.client.deadline) { [environment, context] in
                _ = try await environment.resolver.keys(at: url, authority: authority, context: context)
            }
            return nil
        } catch {
            return error as? AuthenticationError ?? Self.keysTimedOut
        }
    }
}

extension TokenAudience {
    /// - Throws: `.invalidTarget` for a token that is for other addresses.
    package static func check(_ accessToken: String, for resource: String) throws {
        guard let others = others(in: accessToken, than: resource) else { return }
        let listing = others.prefix(3).map { WireText.quoted($0) }.joined(separator: ", ")
        throw AuthenticationError(
            .invalidTarget,
            """
            The server issued a token for \(listing) and not for \(resource), so it is not sent there. If you know the server and \
            the resource, name both together, as issuer and resource, and sign in again.
            """
        )
    }
}
