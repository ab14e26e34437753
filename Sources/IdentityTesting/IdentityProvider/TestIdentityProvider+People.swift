// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
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
