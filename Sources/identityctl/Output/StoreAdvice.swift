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
        guard let remembered else { return absence.contains(code) ? unchosen(options) : nil }
        let givingUp = options.ofProvider.command("logout --discard")
        guard isUsed else {
            let advice = """
                Leave --cache out (and IDENTITYCTL_CACHE) to use them where they are, or move them: \
                \(options.ofProvider.command("cache move --to STORE"))
                """
            return needsKeyring(remembered)
                ? "\(advice). If the keyring is gone, give them up, and sign in anew: \(givingUp)" : advice
        }
        guard needsKeyring(remembered), absence.contains(code) || outOfReach.contains(code) else { return nil }
        return """
            The tokens rest in '\(remembered)', and cannot be read without the keyring that they were stored with. If it is gone, \
            give them up, and sign in anew: \(givingUp)
            """
    }

    private static func unchosen(_ options: SharedOptions) -> String {
        """
        Without a keyring, keep the tokens in files that only you can read, in clear text. Say so once for this client id or \
        group, and it is remembered: \(options.replacing("--cache", with: "file").command("login"))
        """
    }

    private static func needsKeyring(_ store: TokenStore) -> Bool { [.encryptedFile, .keyring].contains(store) }

    /// The errors for an absent keyring. A locked or slow keyring is not absent, and its error says how to open it.
    /// Advice to use files in clear text would be wrong then, because they would be remembered as the store.
    private static let absence: Set<AuthenticationError.Code> = [
        .keyringLibraryMissing, .keyringNoSessionBus, .keyringNoService, .keyringNoDefaultCollection,
        .keyringAccessDenied,
    ]

    /// The errors for a keyring that exists and does not give out the key.
    private static let outOfReach: Set<AuthenticationError.Code> = [.keyringLocked, .cacheKeyUnavailable]
}
