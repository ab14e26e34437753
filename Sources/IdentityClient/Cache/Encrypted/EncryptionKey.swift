// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials

/// The key of an ``EncryptedTokenCache``: 256 bits.
///
/// Anyone who has the key can read the tokens. If the key is lost, so are the tokens. Keep it apart from the records:
/// in a keyring, a secret of the service manager or a file on another disk. Its memory is wiped when the last copy of
/// the value is released. Its descriptions never show it.
///
/// ```swift
/// let key = EncryptionKey.random()
/// let cache = EncryptedTokenCache(FileTokenCache(), key: key)
/// ```
public struct EncryptionKey: Equatable, Sendable {
    let symmetric: SymmetricKey
    /// An identifier that distinguishes this key from other keys and reveals nothing of it.
    let id: [UInt8]

    /// Wraps a stored key.
    ///
    /// - Parameter bytes: 32 bytes that cannot be guessed: never a password, nor bytes derived from a password without
    ///   a function such as Argon2.
    /// - Throws: `AuthenticationError.configuration` when there are not exactly 32 bytes.
    public init(_ bytes: [UInt8]) throws {
        guard bytes.count == 32 else {
            throw AuthenticationError(
                .invalidArgument,
                "The encryption key of a token cache has 32 bytes; this one has \(bytes.count)."
            )
        }
        self.init(SymmetricKey(data: bytes))
    }

    private init(_ symmetric: SymmetricKey) {
        self.symmetric = symmetric
        let code = HMAC<SHA256>.authenticationCode(for: Array("identity-client key id".utf8), using: symmetric)
        id = Array(code.prefix(SealedRecord.keyIDLength))
    }

    /// Returns a new key from the system's random generator.
    public static func random() -> EncryptionKey {
        EncryptionKey(SymmetricKey(size: .bits256))
    }

    /// The 32 bytes, to store them. This copy is never wiped. Do not log it.
    public var bytes: [UInt8] {
        unsafe symmetric.withUnsafeBytes { unsafe Array($0) }
    }

    /// Whether a record of an ``EncryptedTokenCache``'s storage was encrypted with another key than this.
    package func isOther(than record: CacheRecord) -> Bool {
        SealedRecord.keyID(of: record.bytes).map { !$0.elementsEqual(id) } ?? false
    }

    /// Returns whether both are the same key, in a time that does not depend on where they differ.
    public static func == (one: EncryptionKey, other: EncryptionKey) -> Bool {
        one.symmetric == other.symmetric
    }
}

extension EncryptionKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// A fixed text that does not reveal the key.
    public var description: String { "EncryptionKey(redacted)" }

    /// The same as ``description``.
    public var debugDescription: String { description }

    /// An empty mirror, so that `dump` reveals nothing.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// The source of an ``EncryptedTokenCache``'s key: a keyring, a secret of the service manager, a hardware token.
///
/// ``KeyFile`` has the key in a file or a credential of systemd.
///
/// ```swift
/// struct Vault: EncryptionKeyProvider {
///     func encryptionKey() async throws -> EncryptionKey { try EncryptionKey(await fetchKey()) }
/// }
/// ```
public protocol EncryptionKeyProvider: Sendable {
    /// Returns the key: the same key each time.
    ///
    /// The cache calls this when the first record is read or written, not before, and remembers the key. It calls this
    /// again after a failure, and when a record needs another key. The call must not wait without a bound. It must not
    /// create a new key if the previous key is only unavailable now: the records could then no longer be decrypted.
    ///
    /// - Throws: `AuthenticationError(.cache, …)` or one of its second levels, which is passed on unchanged. Any other
    ///   error is wrapped as `.cacheKeyUnavailable`.
    func encryptionKey() async throws -> EncryptionKey
}

extension EncryptionKey: EncryptionKeyProvider {
    /// Returns this key.
    public func encryptionKey() async throws -> EncryptionKey { self }
}
