// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import IdentityClient
import Synchronization

extension TestIdentityProvider {
    /// What the provider knows of an access token: what an API in a test goes by.
    ///
    /// - SeeAlso: [RFC 7662 §2.2](https://www.rfc-editor.org/rfc/rfc7662#section-2.2)
    public struct Introspection: Sendable {
        /// The program that it was issued to.
        public let clientID: ClientID
        /// Whose token it is, as they are now.
        public let person: Person
        /// What it permits.
        public let scopes: Set<Scope>
        /// When it expires.
        public let expires: Date
        /// The claims parameter it was asked for with (JSON): how a test's API sees that its challenge was passed on.
        public let requestedClaims: String?
    }

    /// What an access token stands for, or `nil` when it is not this provider's, has expired or was revoked.
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
