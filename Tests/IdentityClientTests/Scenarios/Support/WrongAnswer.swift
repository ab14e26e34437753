// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityTesting

/// Answers of the token endpoint that must be refused, and the resulting errors.
enum WrongAnswer {
    typealias Case = (TestIdentityProvider.Fault, AuthenticationError.Code)

    /// The answer of a firewall or proxy in place of the provider.
    static func blockPage(status: Int) -> TestIdentityProvider.Fault {
        .answer(
            status: status,
            headers: [("Content-Type", "text/html")],
            body: "<!doctype html><title>Request blocked</title>"
        )
    }

    /// Wrong answers to any grant.
    static let toAnyGrant: [Case] = [
        (.html, .malformedResponse),
        (blockPage(status: 403), .malformedResponse),
        (blockPage(status: 404), .malformedResponse),
        (.notUTF8, .malformedResponse),
        (.oversized(), .malformedResponse),
        (.endless, .malformedResponse),
        (.redirect(to: "https://evil.example.test/token"), .malformedResponse),
        (.redirect(to: "https://login.example.test/token", status: 302), .malformedResponse),
        (.repeating("access_token"), .malformedResponse),
        (.changing("access_token", to: nil), .malformedResponse),
        (.changing("access_token", to: #""two\r\nlines""#), .malformedResponse),
        (.changing("access_token", to: "7"), .malformedResponse),
        (.changing("token_type", to: #""mac""#), .malformedResponse),
        (.changing("expires_in", to: "[]"), .malformedResponse),
        (.answer(status: 200), .malformedResponse),
        (.answer(status: 200, body: "[]"), .malformedResponse),
        (.refusal("invalid_client", status: 401), .clientNotRegistered),
        (.refusal("invalid_scope"), .invalidScope),
        (.serverError(status: 500), .serverUnavailable),
        (.drop, .connectionFailed),
    ]
}
