// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
package import Logging
import OAuthWire

/// What a provider says of the time.
package enum ProviderClock {
    /// Asks for the provider's configuration and gives the seconds since 1970 by the answer's `Date`, or `nil` when it
    /// has none.
    ///
    /// - Throws: `.network` and its second levels when no answer came, `.serverUnavailable` when the answer was a
    ///   failure of the server, `CancellationError`.
    package static func seconds(
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
