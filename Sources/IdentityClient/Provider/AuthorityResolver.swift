// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

package import Logging
import OAuthWire

/// Finds an authority's endpoints and keys, and decides whether to trust them.
struct AuthorityResolver: Sendable {
    let documents: DiscoveryCache
    /// Hosts that the program declares as trusted.
    let knownHosts: Set<String>

    /// The endpoints: published and checked. If a Microsoft provider answers without publishing them, they follow from
    /// the form.
    ///
    /// - Throws: `.network` or `.serverUnavailable` if no answer comes and the cache has none; `.invalidResponse`,
    ///   `.untrustedAuthority` or `.malformedResponse` if the published document fails a check.
    /// - Parameters:
    ///   - isRefetch: Whether to skip the cached document, because it proved outdated.
    ///   - willFetch: Called before anything is fetched; not called if the cached document suffices.
    func metadata(
        for authority: Authority,
        isRefetch: Bool = false,
        context: RequestContext,
        willFetch: @Sendable () async -> Void = {}
    ) async throws -> ProviderMetadata {
        let urls = authority.configurationURLs
        guard !urls.isEmpty else { return try templates(of: authority) }
        try await checkTrust(in: authority, context: context, willFetch)
        let checked = checking(authority, context)
        do {
            let document = try await documents.document(
                at: urls,
                for: authority,
                isRefetch: isRefetch,
                hasSubstitute: authority.templates != nil,
                context: context,
                willFetch: willFetch,
                check: { json in _ = try checked(json) }
            )
            return try checked(document.json)
        } catch let error as AuthenticationError where error.isOfABusyProvider {
            // If the provider is unreachable, the browser would only show this, at a guessed address.
            guard let templates = authority.templates else { throw error }
            return templates
        }
    }

    /// An endpoint that no sign-in needs; `nil` if the provider does not publish it.
    ///
    /// Deviation: django-oauth-toolkit names such endpoints only in its RFC 8414 document. That document is fetched only
    /// here, and counts if it names the same issuer.
    func endpoint(
        _ endpoint: @Sendable (ProviderMetadata) -> String?,
        of authority: Authority,
        _ metadata: ProviderMetadata,
        context: RequestContext
    ) async throws -> String? {
        if let found = endpoint(metadata) { return found }
        guard case .openIDConnect = authority.kind, let url = authority.configurationURLs.last else { return nil }
        let checked = checking(authority, context)
        do {
            let document = try await documents.document(
                at: [url],
                for: authority,
                context: context,
                check: { json in _ = try checked(json) }
            )
            return endpoint(try checked(document.json))
        } catch let error as AuthenticationError where !(.network ~= error.code) && !(.serverUnavailable ~= error.code)
        {
            context.logger.debug(
                "The provider has no second document that passes the checks",
                metadata: ["identity.error": "\(error.shortDescription)"]
            )
            return nil
        }
    }

    /// The keys for ID tokens, from the set at `url`.
    ///
    /// - Parameters:
    ///   - isRefetch: Whether to skip the cached set, because none of its keys has signed the token.
    ///   - willFetch: Called before the keys are fetched; not called if the cached keys suffice.
    func keys(
        at url: String,
        isRefetch: Bool = false,
        authority: Authority,
        context: RequestContext,
        willFetch: @Sendable () async -> Void = {}
    ) async throws -> JSONWebKeySet {
        let document = try await documents.document(
            at: [url],
            for: authority,
            isRefetch: isRefetch,
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

    private func checking(
        _ authority: Authority,
        _ context: RequestContext
    ) -> @Sendable (JSONObject) throws -> ProviderMetadata {
        { json in try ProviderMetadata(published: json, by: authority, correlationID: context.correlationID) }
    }

    private func templates(of authority: Authority) throws -> ProviderMetadata {
        guard let templates = authority.templates else {
            throw AuthenticationError(.configuration, "The authority names no endpoints.")
        }
        return templates
    }

    /// Checks an unknown Entra host with Microsoft; without a definite answer the host is refused.
    ///
    /// - SeeAlso: [Instance discovery](https://learn.microsoft.com/entra/identity-platform/authentication-national-cloud)
    private func checkTrust(
        in authority: Authority,
        context: RequestContext,
        _ willFetch: @Sendable () async -> Void
    ) async throws {
        guard case .entra(let base, let tenant) = authority.kind,
            !CloudInstances.isKnown(base.host), !knownHosts.contains(base.host), !base.isLoopback
        else { return }
        let microsoftHost = CloudInstances.hosts[0][0]
        let query = FormURLEncoded.encode([
            ("api-version", "1.1"),
            ("authorization_endpoint", "\(base.origin)/\(tenant)/oauth2/v2.0/authorize"),
        ])
        let url = "https://\(microsoftHost)/common/discovery/instance?\(query)"
        let host = base.host
        do {
            _ = try await documents.document(
                at: [url],
                for: authority,
                context: context,
                willFetch: willFetch
            ) { json in
                let answer = try? InstanceDiscoveryResponse(json)  // what cannot be read names no host
                guard answer?.aliases.contains(where: { $0.contains(host) }) == true else {
                    throw Self.untrusted(host, context)
                }
            }
        } catch let error as AuthenticationError where .configuration ~= error.code {
            throw Self.untrusted(host, context)
        }
    }

    private static func untrusted(_ host: String, _ context: RequestContext) -> AuthenticationError {
        context.error(
            .untrustedAuthority,
            "\(host) is not known to be a Microsoft host. Name another provider by its issuer, and a host of your own as a known one."
        )
    }
}

/// Warnings about a provider's published metadata, given before the provider is used.
package enum ProviderInspection {
    /// Reads the provider's configuration, and believes it or not, as a sign-in does.
    ///
    /// - Returns: Whether there is something to read: a plain OAuth 2.0 server publishes nothing.
    /// - Throws: `.network`, `.serverUnavailable`, `.configuration` where nothing is published, `.invalidResponse` and its second
    ///   levels for what is not checked; `CancellationError`.
    package static func check(
        _ authority: Authority,
        over transport: any HTTPTransport,
        deadline: Duration,
        logger: Logger?
    ) async throws -> Bool {
        guard !authority.configurationURLs.isEmpty else { return false }
        let documents = DiscoveryCache(
            client: EndpointClient(transport: transport, deadline: deadline),
            cache: InMemoryTokenCache(),
            group: .application("inspection"),
            clock: SystemClock()
        )
        let context = RequestContext(correlationID: nil, logger: logger)
        _ = try await AuthorityResolver(documents: documents, knownHosts: []).metadata(for: authority, context: context)
        return true
    }
}

extension ProviderMetadata {
    /// Returns an authority's endpoints for a wing that has no application object. Throws as the resolver's function does.
    package static func read(
        of authority: Authority,
        over client: EndpointClient,
        cache: any TokenCache,
        group: CacheGroup,
        clock: any WallClock,
        _ context: RequestContext
    ) async throws -> ProviderMetadata {
        let documents = DiscoveryCache(client: client, cache: cache, group: group, clock: clock)
        let resolver = AuthorityResolver(documents: documents, knownHosts: [])
        return try await resolver.metadata(for: authority, context: context)
    }
}
