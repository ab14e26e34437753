// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import IdentityClient
import Logging
import OAuthWire

/// The provider's time.
enum ProviderClock {
    /// Fetches the provider's configuration and returns the answer's `Date` in seconds since 1970, or `nil` if there is
    /// none.
    ///
    /// - Throws: `.network` and its second levels if no answer came, `.serverUnavailable` if the server failed,
    ///   `CancellationError`.
    static func seconds(
        of authority: Authority,
        over transport: any HTTPTransport,
        deadline: Duration,
        logger: Logger?
    ) async throws -> Int64? {
        guard let url = authority.configurationURLs.first else { return nil }
        let answer = try await EndpointClient(transport: transport, deadline: deadline).get(
            url,
            context: RequestContext(correlationID: nil, logger: logger),
            authority: authority
        )
        guard answer.status < 500 else {
            throw AuthenticationError(
                .serverUnavailable,
                "The provider answered with status \(answer.status). Try again later."
            )
        }
        return answer.headerFields[.date].flatMap { HTTPDate.parse($0) }
    }
}
