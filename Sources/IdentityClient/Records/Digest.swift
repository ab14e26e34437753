// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Crypto
import OAuthWire

/// Fingerprints of texts.
package enum Digest {
    /// A short fingerprint, for lists that no security depends on; 0 for an empty list.
    package static func tag(of parts: [String]) -> UInt64 {
        parts.isEmpty ? 0 : UInt64(hexadecimal(of: parts).prefix(16), radix: 16) ?? 0
    }

    /// A fingerprint of several texts, separated so that different lists have different fingerprints: 64 lower-case hexadecimal digits.
    package static func hexadecimal(of parts: [String]) -> String {
        var hash = SHA256()
        for part in parts {
            hash.update(data: Array("\(part.utf8.count):\(part)".utf8))
        }
        return text(hash.finalize())
    }

    /// The SHA-256 of one text, as other programs compute it.
    package static func sha256(_ text: String) -> String {
        Self.text(SHA256.hash(data: Array(text.utf8)))
    }

    private static func text(_ digest: SHA256.Digest) -> String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        for byte in digest {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }
}
