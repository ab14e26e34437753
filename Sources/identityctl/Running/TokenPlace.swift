// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityKeyring
import SystemSupport

/// The store of the tokens where there is no keyring, as a person chooses it.
enum TokenPlace {
    /// The value of `--cache` for encrypted files whose key is a file.
    static let encrypted = "encrypted:key-file=\(StoreAdvice.keyFile)"

    /// Asks, and makes the key if there is none.
    ///
    /// - Parameter home: The home directory; `nil` where there is none, so that only clear text is possible.
    /// - Returns: The value of `--cache`.
    /// - Throws: The errors of `Questions`, and of a key that cannot be made.
    static func chosen(_ questions: Questions, _ home: String?) async throws -> String {
        guard let home else { return "file" }
        let path = home + StoreAdvice.keyFile.dropFirst()
        let isThere = SystemCall.exists(path)
        let answer = try await questions.choice(
            "There is no keyring here for the key of your tokens. Where shall they rest?",
            [
                "in encrypted files, with their key in \(StoreAdvice.keyFile)\(isThere ? "" : ", which is made now")",
                "in files in clear text that only you can read",
            ]
        )
        guard answer == 0 else { return "file" }
        if !isThere {
            try await KeyFile(path: path).create(passPhrase: nil)
            questions.console.line("Made a key. A copy of your tokens is worth nothing without it.")
        }
        return encrypted
    }

    /// Whether there is no keyring here, which is another thing than a locked one.
    static func lacksKeyring() async throws -> Bool {
        do {
            _ = try await KeyringTokenCache(applicationName: "identityctl").status()
            return false
        } catch let error as AuthenticationError {
            return error.isKeyringAbsence  // anything else is told by the sign-in
        }
    }
}
