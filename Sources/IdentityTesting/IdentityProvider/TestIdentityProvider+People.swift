// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
public import IdentityClient
import Synchronization

// Changes to people and their accounts.
extension TestIdentityProvider {
    /// Adds a person, or replaces the person with the same username.
    public func add(_ person: Person) {
        state.withLock { state in
            state.accounts.removeAll { $0.person.username == person.username }
            state.accounts.append(ProviderAccount(person: person))
        }
    }

    /// Adds a program, or replaces the program with the same identifier.
    public func add(_ client: Client) {
        state.withLock { $0.clients[client.id.rawValue] = client }
    }

    /// Requires a second factor: refreshes are refused until the person signs in again.
    public func requireSecondFactor(of person: Person) {
        state.withLock { $0.updateAccount(person.username) { $0.needsSecondFactor = true } }
    }

    /// Expires the password: refreshes are refused until the person signs in again.
    public func expirePassword(of person: Person) {
        state.withLock { $0.updateAccount(person.username) { $0.passwordIsExpired = true } }
    }

    /// Signs the person out everywhere: refresh tokens, access tokens and browser sessions become invalid.
    public func revokeSessions(of person: Person) {
        state.withLock { state in
            state.updateAccount(person.username) { $0.revocations += 1 }
            state.sessions = state.sessions.filter { $0.value.username != person.username }
            state.accessTokens = state.accessTokens.filter { $0.value.authorization.username != person.username }
        }
    }

    /// Deletes the account.
    public func deleteAccount(of person: Person) {
        state.withLock { state in
            state.updateAccount(person.username) { $0.isDeleted = true }
            state.sessions = state.sessions.filter { $0.value.username != person.username }
        }
    }

    /// Withdraws all of the person's consent.
    public func withdrawConsent(of person: Person) {
        state.withLock { state in state.consents = state.consents.filter { $0.username != person.username } }
    }

    /// Lets the device that shows `userCode` act for the person.
    ///
    /// - Returns: Whether there is such a device, and it is still waiting.
    @discardableResult
    public func approveDevice(userCode: String, as person: Person) -> Bool {
        let now = clock.now
        return state.withLock { $0.decideDevice(userCode: userCode, allowedBy: person.username, now: now) }
    }

    /// Refuses the device that shows `userCode`.
    ///
    /// - Returns: Whether there is such a device, and it is still waiting.
    @discardableResult
    public func denyDevice(userCode: String) -> Bool {
        let now = clock.now
        return state.withLock { $0.decideDevice(userCode: userCode, allowedBy: nil, now: now) }
    }

    /// Returns whether an access token would be accepted now.
    public func accepts(accessToken: String) -> Bool {
        let now = clock.now
        return state.withLock { $0.accessTokens[accessToken].map { $0.expires > now } ?? false }
    }
}

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
        /// The thumbprint of the key that the token is bound to (`cnf`); `nil` for a bearer token.
        public let keyID: String?
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
                requestedClaims: issued.claims,
                keyID: issued.keyID
            )
        }
    }
}
