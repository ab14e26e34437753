// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

package import Logging

/// Warnings about a provider's published metadata, given before the provider is used.
package enum ProviderInspection {
    /// Reads the provider's configuration, and believes it or not, as a sign-in does.
    ///
    /// - Returns: Whether there is something to read: a plain OAuth 2.0 server publishes nothing.
    /// - Throws: `.network`, `.serverUnavailable`, `.configuration` where nothing is published, `.invalidResponse` and its second
    ///   levels for what is not believed; `CancellationError`.
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
