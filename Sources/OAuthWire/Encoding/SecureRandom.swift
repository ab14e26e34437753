// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Unpredictable values for `state`, `nonce`, code verifiers and keys.
package enum SecureRandom {
    /// `count` bytes from the operating system's generator: `getrandom(2)` on Linux.
    package static func bytes(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        var output: [UInt8] = []
        output.reserveCapacity(count + 7)
        while output.count < count {
            let word = generator.next()
            for shift in stride(from: UInt64(0), to: 64, by: 8) {
                output.append(UInt8(truncatingIfNeeded: word >> shift))
            }
        }
        output.removeLast(output.count - max(0, count))
        return output
    }

    /// A base64url text of `count` random bytes; 32 bytes give 43 characters.
    package static func token(bytes count: Int = 32) -> String { Base64URL.encode(bytes(count)) }
}

/// Whether two texts have the same bytes, in a time that depends only on their lengths.
///
/// Unlike this function, `==` also treats two spellings of one character as equal.
package func constantTimeEquals(_ first: String, _ second: String) -> Bool {
    let first = Array(first.utf8)
    let second = Array(second.utf8)
    guard first.count == second.count else { return false }
    return zip(first, second).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
}
