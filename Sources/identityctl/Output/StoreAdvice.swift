// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityKeyring

/// Advice, as exact commands, for tokens that cannot be stored, cannot be read, or are in another store.
enum StoreAdvice {
    /// - Parameters:
    ///   - remembered: The store that holds the tokens; `nil` if no store was chosen yet.
    ///   - isUsed: Whether the command uses the remembered store.
    static func text(
        for code: AuthenticationError.Code,
        remembered: TokenStore?,
        isUsed: Bool,
        _ options: SharedOptions
    ) -> String? {
        guard let remembered else { return unchosen(code, options) }
        let givingUp = options.ofProvider.command("logout --discard")
        guard isUsed else {
            let advice = """
                Leave --cache out (and IDENTITYCTL_CACHE) to use them where they are, or move them: \
                \(options.ofProvider.command("cache move --to STORE"))
                """
            return remembered.needsKeyring
                ? "\(advice). If the keyring is gone, give them up, and sign in anew: \(givingUp)" : advice
        }
        if remembered.hasKeyFile, [.cacheKeyUnavailable, .cacheUndecryptable].contains(code) {
            return """
                The tokens rest in '\(remembered)', and only that key opens them. If it is lost for good, give them up, and \
                sign in anew: \(givingUp)
                """
        }
        guard remembered.needsKeyring, absence.contains(code) || outOfReach.contains(code) else { return nil }
        return """
            The tokens rest in '\(remembered)', and cannot be read without the keyring that they were stored with. If it is gone, \
            give them up, and sign in anew: \(givingUp)
            """
    }

    private static func unchosen(_ code: AuthenticationError.Code, _ options: SharedOptions) -> String? {
        if code == .cacheKeyUnavailable { return "A key file is made by: identityctl cache create-key PATH" }
        guard absence.contains(code) else { return nil }
        return """
            Without a keyring, keep the tokens in files encrypted with a key of yours (--cache encrypted:key-file=PATH, after \
            'identityctl cache create-key PATH'), or in clear text in files that only you can read. Say so once for this \
            client id or group, and it is remembered: \(options.replacing("--cache", with: "file").command("login"))
            """
    }

    /// The errors for an absent keyring. A locked or slow keyring is not absent, and its error says how to open it.
    /// Advice to use files in clear text would be wrong then, because they would be remembered as the store.
    private static let absence: Set<AuthenticationError.Code> = [
        .keyringLibraryMissing, .keyringNoSessionBus, .keyringNoService, .keyringNoDefaultCollection,
        .keyringAccessDenied,
    ]

    /// The errors for a keyring that exists and does not give out the key.
    private static let outOfReach: Set<AuthenticationError.Code> = [.keyringLocked, .cacheKeyUnavailable]
}
