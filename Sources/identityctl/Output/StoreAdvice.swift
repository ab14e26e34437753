// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

/// What to do where the tokens cannot be kept, or rest elsewhere: the very commands.
enum StoreAdvice {
    /// The tokens rest in a store that this command does not use.
    static let elsewhere = """
        Leave --cache out (and IDENTITYCTL_CACHE) to use them where they are, or move them: \
        identityctl cache move --to STORE
        """

    /// No store was chosen yet, and the keyring cannot be had.
    static func unchosen(_ code: AuthenticationError.Code, _ options: SharedOptions) -> String? {
        guard keyringCodes.contains(code) else { return nil }
        return """
            Without a keyring, keep the tokens in files that only you can read, in clear text. Say so once, and it is \
            remembered: \(options.replacing("--cache", with: "file").command("login"))
            """
    }

    /// One that is locked, or answers late, is not in this list: it is there, and its error says how to open it. Files in clear
    /// text would be remembered as the store.
    private static let keyringCodes: Set<AuthenticationError.Code> = [
        .keyringLibraryMissing, .keyringNoSessionBus, .keyringNoService, .keyringNoDefaultCollection,
        .keyringAccessDenied,
    ]
}
