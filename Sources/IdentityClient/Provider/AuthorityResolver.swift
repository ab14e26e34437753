// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Logging
import OAuthWire

/// Finds an authority's endpoints and keys, and decides whether they are believed.
struct AuthorityResolver: Sendable {
    let documents: DiscoveryCache
    /// Hosts that the program vouches for.
    let knownHosts: Set<String>

    /// The endpoints: published and checked or, where a Microsoft provider is there and does not publish them now, known from
    /// the form.
    ///
    /// - Throws: `.network` or `.serverUnavailable` when nobody answers and nothing is kept; `.issuerMismatch`,
    ///   `.untrustedAuthority` or `.malformedResponse` when what is published is not believed.
    /// - Parameter isRefetch: Whether what is kept is passed over, because it proved outdated.
    func metadata(
        for authority: Authority,
        isRefetch: Bool = false,
        context: RequestContext
    ) async throws -> AuthorityMetadata {
        let urls = authority.configurationURLs
        guard !urls.isEmpty else { return try templates(of: authority) }
        try await checkTrust(in: authority, context: context)
        do {
            let document = try await documents.document(
                at: urls,
                for: authority,
                isRefetch: isRefetch,
                context: context,
                check: { json in _ = try AuthorityMetadata(published: json, by: authority) }
            )
            return try AuthorityMetadata(published: document.json, by: authority)
        } catch let error as AuthenticationError
            where .serverUnavailable ~= error.code || error.code == .networkTimedOut
        {
            // Where there is no way to the provider at all, the browser would only show that at an address that is guessed.
            guard let templates = authority.templates else { throw error }
            return templates
        }
    }

    /// Where tokens are revoked; `nil` where the provider does not say.
    ///
    /// Deviation: django-oauth-toolkit names the endpoint in its RFC 8414 document alone. That document is asked for only
    /// here, when something is to be revoked, and counts if it names the same issuer.
    func revocationEndpoint(
        of authority: Authority,
        _ metadata: AuthorityMetadata,
        context: RequestContext
    ) async throws -> String? {
        if let endpoint = metadata.revocationEndpoint { return endpoint }
        guard case .openIDConnect = authority.kind, let url = authority.configurationURLs.last else { return nil }
        do {
            let document = try await documents.document(
                at: [url],
                for: authority,
                context: context,
                check: { json in _ = try AuthorityMetadata(published: json, by: authority) }
            )
            return try AuthorityMetadata(published: document.json, by: authority).revocationEndpoint
        } catch let error as AuthenticationError where !(.network ~= error.code) && !(.serverUnavailable ~= error.code)
        {
            context.logger.debug(
                "The provider has no second document that is believed",
                metadata: ["identity.error": "\(error.shortDescription)"]
            )
            return nil
        }
    }

    /// The keys that ID tokens are signed with, in one of the places where they are looked for.
    ///
    /// - Parameter willFetch: Is called before they are fetched; not where those that are kept do.
    func keys(
        at place: JWKSLocation,
        authority: Authority,
        context: RequestContext,
        willFetch: @Sendable () async -> Void = {}
    ) async throws -> JSONWebKeySet {
        let document = try await documents.document(
            at: [place.url],
            for: authority,
            isRefetch: place.isRefetch,
            context: context,
            willFetch: willFetch,
            check: { json in _ = try Self.keySet(json) }
        )
        return try Self.keySet(document.json)
    }

    private static func keySet(_ json: JSONObject) throws -> JSONWebKeySet {
        do {
            return try JSONWebKeySet(json)
        } catch {
            throw AuthenticationError(.malformedResponse, "The provider's keys could not be read: \(error).")
        }
    }

    private func templates(of authority: Authority) throws -> AuthorityMetadata {
        guard let templates = authority.templates else {
            throw AuthenticationError(.configuration, "The authority names no endpoints.")
        }
        return templates
    }

    /// An Entra host that nobody vouches for is asked about; no certain answer means no.
    ///
    /// - SeeAlso: [Instance discovery](https://learn.microsoft.com/entra/identity-platform/authentication-national-cloud)
    private func checkTrust(in authority: Authority, context: RequestContext) async throws {
        guard case .entra(let base, let tenant) = authority.kind,
            !CloudInstances.isKnown(base.host), !knownHosts.contains(base.host), !base.isLoopback
        else { return }
        let judge = CloudInstances.hosts[0][0]
        let query = FormURLEncoded.encode([
            ("api-version", "1.1"),
            ("authorization_endpoint", "\(base.origin)/\(tenant)/oauth2/v2.0/authorize"),
        ])
        let url = "https://\(judge)/common/discovery/instance?\(query)"
        let host = base.host
        do {
            _ = try await documents.document(at: [url], for: authority, context: context) { json in
                let answer = try? InstanceDiscoveryResponse(json)  // what cannot be read vouches for nobody
                guard answer?.aliases.contains(where: { $0.contains(host) }) == true else {
                    throw Self.untrusted(host, context)
                }
            }
        } catch let error as AuthenticationError where .configuration ~= error.code {
            throw Self.untrusted(host, context)
        }
    }

    private static func untrusted(_ host: String, _ context: RequestContext) -> AuthenticationError {
        AuthenticationError(
            .untrustedAuthority,
            "\(host) is not known to be a Microsoft host. Name another provider by its issuer, and a host of your own as a known one.",
            correlationID: context.correlationID
        )
    }
}
