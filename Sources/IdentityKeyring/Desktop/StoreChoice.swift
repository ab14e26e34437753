// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

/// The choice of a store: decisions without side effects.
enum StoreChoice {
    /// Whether the keyring must be asked before a store is chosen.
    static func asksKeyring(_ policy: LocationPolicy, remembered: TokenLocation?) -> Bool {
        remembered == nil && policy.locations.first?.needsKeyring == true
    }

    /// Returns the store to move to if there is a keyring now. `nil` if the recorded store was not chosen for want of a keyring.
    static func better(than mark: StoreMark, _ policy: LocationPolicy) -> TokenLocation? {
        guard mark.isFallback, let first = policy.locations.first, first.needsKeyring else { return nil }
        return first
    }

    /// Whether the keyring may contain tokens although the policy would not choose it.
    static func searchesKeyring(_ policy: LocationPolicy) -> Bool {
        policy.accepts(.keyring) && policy.locations.first != .keyring
    }

    /// Returns the store to use, and the reason.
    ///
    /// - Parameters:
    ///   - remembered: The store that was chosen before.
    ///   - problem: The reason why the keyring cannot be used; `nil` if it can, or if that was not checked.
    /// - Throws: `problem` if there is a keyring that cannot be used now, or if the policy lists no other store; `.cache` if
    ///   the policy does not accept the remembered store.
    static func decide(
        _ policy: LocationPolicy,
        remembered: TokenLocation?,
        problem: AuthenticationError?
    ) throws -> (store: TokenLocation, reason: OpenedLocation.Reason) {
        if let remembered {
            guard policy.accepts(remembered) else { throw notListed(remembered, policy) }
            return (remembered, .remembered)
        }
        guard let problem else { return (policy.locations.first ?? .encryptedFile, .preferred) }
        guard isAbsence(problem), let store = policy.locations.first(where: { !$0.needsKeyring }) else { throw problem }
        return (store, .fallback(problem))
    }

    /// Whether a problem means that this machine has no keyring for the program. A locked or silent keyring exists: a store
    /// that was chosen because of it would be the wrong store tomorrow. So would one that was chosen because an old address
    /// hides the session's bus, or in another user's session.
    static func isAbsence(_ problem: AuthenticationError) -> Bool {
        if (problem.underlyingError as? MisleadingBusAddress)?.mayHideKeyring == true { return false }
        return switch problem.code {
        case .keyringLibraryMissing, .keyringNoSessionBus, .keyringNoService, .keyringNoDefaultCollection,
            .keyringAccessDenied:
            true
        default: false
        }
    }

    private static func notListed(_ store: TokenLocation, _ policy: LocationPolicy) -> AuthenticationError {
        let listed = (policy.locations + policy.alsoAccepted).map(\.name).joined(separator: ", ")
        return AuthenticationError(
            .cache,
            "The sign-ins are in the store '\(store)', which this program does not accept. It accepts: \(listed). "
                + "Accept that store, or move the sign-ins to an accepted store."
        )
    }
}

extension AuthenticationError {
    /// Whether the error means that this machine has no keyring for the program.
    package var isKeyringAbsence: Bool { StoreChoice.isAbsence(self) }
}
