// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

internal import Crypto

/// The proof that a code's redeemer is its requester (PKCE), with method S256.
///
/// Each sign-in has its own key; its descriptions do not show the verifier.
/// - SeeAlso: [RFC 7636](https://www.rfc-editor.org/rfc/rfc7636)
package struct ProofKey: Sendable, CustomStringConvertible, CustomReflectable {
    /// The secret, sent with the token request.
    package let verifier: String

    /// Its hash, sent with the authorization request.
    package let challenge: String

    /// Creates a key from 32 random bytes.
    package init() { self.init(verifier: SecureRandom.token(bytes: 32)) }

    /// Creates the key of a known verifier: 43 to 128 unreserved characters.
    package init(verifier: String) {
        self.verifier = verifier
        challenge = Self.challenge(for: verifier)
    }

    /// The S256 challenge of `verifier`, which a server computes for comparison.
    package static func challenge(for verifier: String) -> String {
        Base64URL.encode(Array(SHA256.hash(data: Array(verifier.utf8))))
    }

    package var description: String { "ProofKey(‹redacted›)" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
