// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Crypto
import CryptoExtras
import FoundationEssentials
import Synchronization
import SystemSupport

/// The bytes that an ``EncryptedTokenCache`` stores: header, nonce, ciphertext and tag.
///
/// | bytes | |
/// |---|---|
/// | 4 | `8A 53 49 43` |
/// | 1 | the version, 1: AES-256-GCM |
/// | 8 | the key's identifier |
/// | 12 | the nonce, random for each write |
/// | … | the ciphertext, as long as the record |
/// | 16 | the tag, over all of the above and the record's key |
struct SealedRecord {
    /// The first bytes. No JSON and no UTF-8 text begins with them.
    private static let magic: [UInt8] = [0x8A, 0x53, 0x49, 0x43]
    private static let version: UInt8 = 1
    static let keyIDLength = 8
    private static let headerLength = 13
    /// The number of bytes by which a sealed record is longer than its content.
    static let overhead = headerLength + 12 + 16

    private let bytes: [UInt8]
    private let key: CacheKey

    /// Returns whether a record was written by an ``EncryptedTokenCache`` of any version.
    static func isSealed(_ bytes: [UInt8]) -> Bool {
        bytes.starts(with: magic)
    }

    /// Returns the identifier of the key that sealed a record, or `nil` if this version cannot tell.
    static func keyID(of bytes: [UInt8]) -> ArraySlice<UInt8>? {
        guard isSealed(bytes), bytes.count >= overhead, bytes[magic.count] == version else { return nil }
        return bytes[(headerLength - keyIDLength)..<headerLength]
    }

    /// Reads the header of a record found under `key`.
    ///
    /// - Throws: `.cacheUndecryptable` when it is not an encrypted record, `.cacheNewerVersion` when a newer version
    ///   wrote it.
    init(_ record: CacheRecord, for key: CacheKey) throws {
        bytes = record.bytes
        self.key = key
        guard Self.isSealed(bytes) else {
            throw failure("is not encrypted, so its author is unknown, and this cache accepts only encrypted records")
        }
        guard bytes.count > Self.magic.count, bytes[Self.magic.count] > 0 else { throw failure("is damaged") }
        guard bytes[Self.magic.count] == Self.version else {
            throw AuthenticationError(
                .cacheNewerVersion,
                "\(Self.name(key)) was encrypted by a newer version of this library. Update this program."
            )
        }
        guard bytes.count >= Self.overhead else { throw failure("is damaged: it was cut short") }
    }

    /// The identifier of the key that it was encrypted with.
    var keyID: ArraySlice<UInt8> { bytes[(Self.headerLength - Self.keyIDLength)..<Self.headerLength] }

    /// Returns the decrypted content.
    ///
    /// - Throws: `.cacheUndecryptable` when the content cannot be decrypted.
    func open(with secret: EncryptionKey) throws -> CacheRecord {
        guard keyID.elementsEqual(secret.id) else {
            throw failure("was encrypted with another key than this program has")
        }
        do {
            let box = try AES.GCM.SealedBox(combined: bytes[Self.headerLength...])
            let associated = Self.associated(header: bytes[..<Self.headerLength], key: key)
            return try CacheRecord(bytes: Array(AES.GCM.open(box, using: secret.symmetric, authenticating: associated)))
        } catch {
            throw failure("was damaged, changed or brought here from elsewhere", underlyingError: error)
        }
    }

    /// Returns the encrypted form of a record to store under `key`. The bytes differ each time.
    static func seal(_ record: CacheRecord, for key: CacheKey, with secret: EncryptionKey) throws -> CacheRecord {
        let header = magic + [version] + secret.id
        let associated = associated(header: header[...], key: key)
        let box = try AES.GCM.seal(record.bytes, using: secret.symmetric, authenticating: associated)
        var bytes = header
        bytes.reserveCapacity(record.bytes.count + overhead)
        bytes.append(contentsOf: box.nonce)
        bytes.append(contentsOf: box.ciphertext)
        bytes.append(contentsOf: box.tag)
        return CacheRecord(bytes: bytes)
    }

    /// Returns the header and each part of the key, preceded by its length, so that no two keys give the same bytes.
    private static func associated(header: ArraySlice<UInt8>, key: CacheKey) -> [UInt8] {
        var bytes = Array(header)
        for part in [key.group.name, key.kind.rawValue, key.name] {
            bytes.append(contentsOf: "\(part.utf8.count):\(part)".utf8)
        }
        return bytes
    }

    private static func name(_ key: CacheKey) -> String {
        "The record \(key.kind.rawValue)-\(key.name) of the token cache's group \(key.group.name)"
    }

    private func failure(_ what: String, underlyingError: (any Error)? = nil) -> AuthenticationError {
        AuthenticationError(
            .cacheUndecryptable,
            "\(Self.name(key)) \(what). It was left as it is: bring back the right key or the record from a backup, "
                + "or remove what cannot be read and sign in again.",
            underlyingError: underlyingError
        )
    }
}
