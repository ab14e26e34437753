// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import IdentityClient
import Synchronization

extension TestIdentityProvider {
    /// The provider's information about an access token, for an API in a test.
    ///
    /// ```swift
    /// #expect(provider.introspect(accessToken: result.accessToken)?.person == .alice)
    /// ```
    /// - SeeAlso: [RFC 7662 §2.2](https://www.rfc-editor.org/rfc/rfc7662#section-2.2)
    public struct Introspection: Sendable {
        /// The program to which the token was issued.
        public let clientID: ClientID
        /// The owner of the token, in their current state.
        public let person: Person
        /// The scopes that the token grants.
        public let scopes: Set<Scope>
        /// The token's expiration date.
        public let expires: Date
        /// The `claims` parameter of the request (JSON), which shows a test's API that its challenge was passed on.
        public let requestedClaims: String?
    }

    /// Returns the information about an access token, or `nil` if it is not this provider's, has expired, or was
    /// revoked.
    public func introspect(accessToken: String) -> Introspection? {
        let now = clock.now
        return state.withLock { state in
            guard let issued = state.accessTokens[accessToken], issued.expires > now,
                let account = state.account(issued.authorization.username)
            else { return nil }
            return Introspection(
                clientID: ClientID(rawValue: issued.authorization.clientID),
                person: account.person,
                scopes: Set(issued.authorization.scopes.map { Scope(rawValue: $0) }),
                expires: issued.expires,
                requestedClaims: issued.claims
            )
        }
    }
}
