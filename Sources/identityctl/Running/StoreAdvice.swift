// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityKeyring

/// Advice, as exact commands, for tokens that cannot be stored, cannot be read, or are in another store.
///
/// Nothing here loses a sign-in: most states of a keyring pass. Only `doctor` says, at its end, how tokens are given up.
enum StoreAdvice {
    /// The place of a key file in the guide and in advice.
    static let keyFile = "~/.config/identityctl/token.key"

    /// - Parameters:
    ///   - remembered: The store that holds the tokens; `nil` if no store was chosen yet.
    ///   - isUsed: Whether the command uses the remembered store.
    ///   - hasKeyFile: Whether there is a file at ``keyFile``.
    ///   - hasScreen: Whether a browser can be shown.
    static func text(
        for error: AuthenticationError,
        remembered: TokenLocation?,
        isUsed: Bool = true,
        hasKeyFile: Bool = false,
        hasScreen: Bool = true,
        _ options: SharedOptions
    ) -> String? {
        guard let remembered else { return unchosen(error, hasKeyFile, hasScreen, options) }
        guard isUsed else {
            return """
                Leave --cache out (and IDENTITYCTL_CACHE) to use them where they are, or move them: \
                \(options.ofProvider.command("cache move --to STORE"))
                """
        }
        let examine = options.ofProvider.command("doctor")
        if remembered.hasKeyFile {
            guard [.cacheKeyUnavailable, .cacheUndecryptable].contains(error.code) else { return nil }
            return """
                The tokens rest in '\(remembered)', and only that key opens them. If it has another place now: \
                \(options.ofProvider.command("cache move --to encrypted:key-file=PATH")). To examine it: \(examine)
                """
        }
        guard remembered.needsKeyring, error.isKeyringAbsence || error.code == .cacheKeyUnavailable else { return nil }
        return """
            The tokens rest in '\(remembered)', and can be read again with the keyring that they were stored with. To see \
            what is missing: \(examine)
            """
    }

    private static func unchosen(
        _ error: AuthenticationError,
        _ hasKeyFile: Bool,
        _ hasScreen: Bool,
        _ options: SharedOptions
    ) -> String? {
        if error.code == .cacheKeyUnavailable { return "A key file is made by: identityctl cache create-key PATH" }
        // A locked or slow keyring is not absent, and its error says how to open it. Another store would be remembered.
        guard error.isKeyringAbsence else { return nil }
        let store = options.replacing("--cache", with: "encrypted:key-file=\(keyFile)")
        let signIn = (hasScreen ? store : store.adding(flag: "--manual")).command("login")
        let command = hasKeyFile ? signIn : "identityctl cache create-key \(keyFile) && \(signIn)"
        return """
            Without a keyring, keep the tokens in files encrypted with a key of yours (or with --cache file in clear text, \
            in files that only you can read). Say so once for this client id or group, and it is remembered: \(command)
            """
    }

    /// Returns the last resort of tokens that may never be read again; `nil` if they can be read later.
    static func givingUp(_ store: TokenLocation, _ error: any Error, _ options: SharedOptions) -> String? {
        guard let error = error as? AuthenticationError, store.needsKeyring || store.hasKeyFile,
            error.isKeyringAbsence || [.cacheKeyUnavailable, .cacheUndecryptable].contains(error.code)
        else { return nil }
        return """
            Only if the \(store.hasKeyFile ? "key" : "keyring or the key in it") is gone for good, give the tokens up, and \
            sign in anew: \(options.ofProvider.command("logout --discard"))
            """
    }
}
