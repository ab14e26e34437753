// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Crypto
import OAuthWire

/// A fingerprint of several texts, separated so that different lists have different fingerprints.
package enum Digest {
    /// 64 lower-case hexadecimal digits.
    package static func hexadecimal(of parts: [String]) -> String {
        var hash = SHA256()
        for part in parts {
            hash.update(data: Array("\(part.utf8.count):\(part)".utf8))
        }
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        for byte in hash.finalize() {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }
}
