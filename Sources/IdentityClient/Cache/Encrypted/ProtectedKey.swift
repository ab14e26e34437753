// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Crypto
import CryptoExtras
import FoundationEssentials

/// The content of a key file that a pass phrase protects: the key, encrypted with a key that scrypt makes of the pass phrase.
///
/// | bytes | |
/// |---|---|
/// | 4 | `8A 53 49 4B` |
/// | 1 | the version, 1: scrypt with the block size 8 and no parallelism, AES-256-GCM |
/// | 1 | the binary logarithm of scrypt's rounds |
/// | 16 | the salt |
/// | 12 | the nonce |
/// | 32 | the encrypted key |
/// | 16 | the tag, over all of the above |
///
/// - SeeAlso: [RFC 7914](https://www.rfc-editor.org/rfc/rfc7914)
struct ProtectedKey: Hashable, Sendable {
    private static let magic: [UInt8] = [0x8A, 0x53, 0x49, 0x4B]
    private static let version: UInt8 = 1
    private static let headerLength = 22
    static let length = headerLength + 60

    /// The cost of a new file: 128 MiB, and a third of a second.
    private static let usualCost: UInt8 = 17
    /// The costs that are believed, at most 512 MiB. A file must not make a program use all memory.
    private static let costs: ClosedRange<UInt8> = 1...19

    let bytes: [UInt8]

    /// Whether a file's content is a protected key of any version.
    static func isProtected(_ bytes: [UInt8]) -> Bool {
        bytes.starts(with: magic)
    }

    /// - Throws: `.cacheNewerVersion` for another version, `.cacheKeyUnavailable` for a damaged file.
    init(_ bytes: [UInt8], name: String) throws {
        self.bytes = bytes
        guard bytes.count > Self.magic.count, bytes[Self.magic.count] == Self.version else {
            throw AuthenticationError(
                .cacheNewerVersion,
                "\(name) was made by a newer version of this library. Update this program."
            )
        }
        guard bytes.count == Self.length, Self.costs.contains(bytes[5]) else {
            throw AuthenticationError(.cacheKeyUnavailable, "\(name) is damaged. Bring the key back from a copy.")
        }
    }

    /// Encrypts a key. Takes a third of a second.
    init(_ key: EncryptionKey, passPhrase: String, cost: UInt8 = usualCost) throws {
        let header = Self.magic + [Self.version, cost] + SymmetricKey(size: .bits128).bytes
        let box = try AES.GCM.seal(
            key.bytes,
            using: Self.derived(from: passPhrase, header: header[...]),
            authenticating: header
        )
        bytes = header + box.nonce + box.ciphertext + box.tag
    }

    /// Decrypts the key; `nil` if the pass phrase is wrong, or the file was changed. Takes a third of a second.
    func key(passPhrase: String) throws -> EncryptionKey? {
        guard !passPhrase.isEmpty else { return nil }
        let header = bytes[..<Self.headerLength]
        let derived = try Self.derived(from: passPhrase, header: header)
        // Every failure of the decryption means the same.
        guard let box = try? AES.GCM.SealedBox(combined: bytes[Self.headerLength...]),
            let key = try? AES.GCM.open(box, using: derived, authenticating: header)
        else { return nil }
        return try EncryptionKey(Array(key))
    }

    /// - Precondition: The header's cost is among ``costs``, and the pass phrase is not empty: scrypt checks neither.
    private static func derived(from passPhrase: String, header: ArraySlice<UInt8>) throws -> SymmetricKey {
        try KDF.Scrypt.deriveKey(
            from: Array(passPhrase.utf8),
            salt: Array(header.dropFirst(6)),
            outputByteCount: 32,
            rounds: 1 << Int(header[5]),
            blockSize: 8,
            parallelism: 1
        )
    }
}

extension SymmetricKey {
    fileprivate var bytes: [UInt8] { unsafe withUnsafeBytes { unsafe Array($0) } }
}
