// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityKeyring

/// What to do where the tokens cannot be kept, cannot be read, or rest elsewhere: the very commands.
enum StoreAdvice {
    /// - Parameters:
    ///   - remembered: The store in which the tokens rest; `nil` where none was chosen yet.
    ///   - isUsed: Whether the command uses that one.
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

    /// There is no keyring. One that is locked, or answers late, is there, and its error says how to open it: files in clear
    /// text would be remembered as the store.
    private static let absence: Set<AuthenticationError.Code> = [
        .keyringLibraryMissing, .keyringNoSessionBus, .keyringNoService, .keyringNoDefaultCollection,
        .keyringAccessDenied,
    ]

    /// There is one, and it does not give the key out.
    private static let outOfReach: Set<AuthenticationError.Code> = [.keyringLocked, .cacheKeyUnavailable]
}
