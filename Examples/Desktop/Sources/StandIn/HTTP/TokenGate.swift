// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FlyingFox
import Foundation
import IdentityClient
import IdentityTesting

/// The access check of a service, which requires a valid access token of the service's provider.
struct TokenGate: Sendable {
    let provider: TestIdentityProvider
    let service: StandIn.Faults.Service
    let faults: StandIn.Faults

    /// Returns the information about the request's token: the person and the scopes.
    ///
    /// - Throws: ``HTTPRefusal``, also for planned faults; `CancellationError`.
    func admit(_ request: HTTPRequest) async throws -> TestIdentityProvider.Introspection {
        let plan = faults.take(for: service)
        try await act(on: plan)
        guard let header = request.headers[.authorization], header.lowercased().hasPrefix("bearer ") else {
            throw challenge("CompactToken parsing failed: no bearer token was sent.")
        }
        let token = header.dropFirst("bearer ".count).trimmingCharacters(in: .whitespaces)
        guard let known = provider.introspect(accessToken: token), plan?.fault != .unauthorized else {
            throw challenge("The token is not this provider's, has expired, or was revoked.")
        }
        if plan?.fault == .secondFactor { provider.requireSecondFactor(of: known.person) }
        if faults.demandsClaims(for: service), known.requestedClaims?.contains(#""acrs""#) != true {
            throw challenge("The sign-in must be stronger.", claims: StandIn.Faults.claims)
        }
        return known
    }

    private func act(on plan: StandIn.Faults.Plan?) async throws {
        guard let plan else { return }
        let seconds = max(0, plan.seconds ?? 1)
        switch plan.fault {
        case .slow:
            try await Task.sleep(for: .seconds(seconds))
        case .throttled:
            throw HTTPRefusal(
                .tooManyRequests,
                "TooManyRequests",
                "Too many requests. Wait.",
                headers: [HTTPHeader("Retry-After"): "\(seconds)"]
            )
        case .unavailable: throw HTTPRefusal(.serviceUnavailable, "ServiceUnavailable", "The service is busy.")
        case .broken: throw HTTPRefusal(.internalServerError, "InternalServerError", "The service is broken.")
        case .unauthorized, .claimsChallenge, .secondFactor: break
        }
    }

    /// - SeeAlso: [RFC 6750 §3](https://www.rfc-editor.org/rfc/rfc6750#section-3)
    private func challenge(_ text: String, claims: String? = nil) -> HTTPRefusal {
        let authority = provider.loopbackAuthority?.description ?? ""
        var value = #"Bearer realm="", authorization_uri="\#(authority)oauth2/v2.0/authorize""#
        if let claims {
            value += #", error="insufficient_claims", claims="\#(Data(claims.utf8).base64EncodedString())""#
        } else {
            value += #", error="invalid_token", error_description="\#(text)""#
        }
        return HTTPRefusal(
            .unauthorized,
            "InvalidAuthenticationToken",
            text,
            headers: [HTTPHeader("WWW-Authenticate"): value]
        )
    }
}
