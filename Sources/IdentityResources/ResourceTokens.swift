// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import Synchronization
import SystemSupport

/// The access tokens of one client. Callers whose tokens were refused at the same time share one renewal.
final class ResourceTokens: Sendable {
    private struct Renewal: Hashable, Sendable {
        let refusedToken: String
        let claims: String?
    }

    private let acquire: @Sendable (SilentParameters) async throws -> AuthenticationResult
    private let parameters: SilentParameters
    private let renewals = SingleFlight<Renewal, AuthenticationResult>()
    /// The token that last met a claims challenge, and the claims.
    private let meeting = Mutex<Renewal?>(nil)

    init(
        _ parameters: SilentParameters,
        acquire: @escaping @Sendable (SilentParameters) async throws -> AuthenticationResult
    ) {
        self.acquire = acquire
        self.parameters = parameters
    }

    func current() async throws -> AuthenticationResult {
        try await acquire(parameters)
    }

    /// Returns a token other than the refused token. It meets `claims` if there are any.
    ///
    /// - Throws: The errors of `acquireTokenSilently(_:)`; if a person is needed, with the claims.
    func renewed(_ refused: AuthenticationResult, claims: String?) async throws -> AuthenticationResult {
        let renewal = Renewal(refusedToken: refused.accessToken, claims: claims)
        do {
            return try await renewals.run(renewal) { try await self.renew(renewal) }
        } catch let error as AuthenticationError where .interactionRequired ~= error.code && error.claims == nil {
            throw error.demanding(claims)
        }
    }

    private func renew(_ renewal: Renewal) async throws -> AuthenticationResult {
        // Another caller may have renewed the token already.
        let current = try await current()
        if current.accessToken != renewal.refusedToken {
            let met = Renewal(refusedToken: current.accessToken, claims: renewal.claims)
            if renewal.claims == nil || meeting.withLock({ $0 }) == met { return current }
        }
        var parameters = parameters
        parameters.claims = renewal.claims
        // Another process may have renewed the token already, too.
        if renewal.claims == nil { parameters.refusedToken = renewal.refusedToken }
        let result = try await acquire(parameters)
        if let claims = renewal.claims {
            meeting.withLock { $0 = Renewal(refusedToken: result.accessToken, claims: claims) }
        }
        return result
    }
}

extension AuthenticationError {
    /// Returns the same error, with the claims that the next sign-in has to meet.
    fileprivate func demanding(_ claims: String?) -> AuthenticationError {
        AuthenticationError(
            code,
            message,
            serverError: serverError,
            claims: claims,
            challenge: challenge,
            retryAfter: retryAfter,
            correlationID: correlationID,
            underlyingError: underlyingError,
            timestamp: timestamp
        )
    }
}
