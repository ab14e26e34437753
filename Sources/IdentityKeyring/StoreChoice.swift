// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

/// Which store it is: decisions without a side effect.
enum StoreChoice {
    /// Whether the keyring has to be asked before a store is chosen.
    static func asksKeyring(_ policy: StorePolicy, remembered: TokenStore?) -> Bool {
        remembered == nil && policy.stores.first?.needsKeyring == true
    }

    /// The store to move to, if the keyring is there now and was missing when the remembered store was chosen.
    static func better(than mark: StoreMark, _ policy: StorePolicy) -> TokenStore? {
        guard mark.isFallback, let first = policy.stores.first, first.needsKeyring else { return nil }
        return first
    }

    /// Whether tokens may rest in a keyring that the policy would not choose.
    static func looksIntoKeyring(_ policy: StorePolicy) -> Bool {
        policy.accepts(.keyring) && policy.stores.first != .keyring
    }

    /// The store.
    ///
    /// - Parameters:
    ///   - remembered: The one that was chosen before.
    ///   - problem: Why the keyring cannot be used; `nil` if it can, or if that was not checked.
    /// - Throws: `problem` when the keyring is there but out of reach for now, or when nothing else is listed; `.cache`
    ///   when the remembered store is not listed.
    static func decide(
        _ policy: StorePolicy,
        remembered: TokenStore?,
        problem: AuthenticationError?
    ) throws -> (store: TokenStore, reason: OpenedStore.Reason) {
        if let remembered {
            guard policy.accepts(remembered) else { throw notListed(remembered, policy) }
            return (remembered, .remembered)
        }
        guard let problem else { return (policy.stores.first ?? .encryptedFile, .preferred) }
        guard isAbsence(problem), let store = policy.stores.first(where: { !$0.needsKeyring }) else { throw problem }
        return (store, .fallback(problem))
    }

    /// Whether this machine, as it is, has no keyring for the program. A locked or silent one is there: what is chosen
    /// because of it would be the wrong store tomorrow.
    static func isAbsence(_ problem: AuthenticationError) -> Bool {
        switch problem.code {
        case .keyringLibraryMissing, .keyringNoSessionBus, .keyringNoService, .keyringNoDefaultCollection,
            .keyringAccessDenied:
            true
        default: false
        }
    }

    private static func notListed(_ store: TokenStore, _ policy: StorePolicy) -> AuthenticationError {
        let listed = (policy.stores + policy.alsoAccepted).map(\.name).joined(separator: ", ")
        return AuthenticationError(
            .cache,
            "The sign-ins rest in the store '\(store)', which this program does not accept (it accepts: \(listed)). "
                + "Accept it, or move them to another store."
        )
    }
}
