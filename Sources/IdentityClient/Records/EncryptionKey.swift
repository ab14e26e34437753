// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Crypto
import CryptoExtras
import FoundationEssentials
import Synchronization
import SystemSupport

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
    /// - Throws: `AuthenticationError` of the family `.configuration` when there are not exactly 32 bytes.
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
    /// - Throws: an error of the family `.cache`, which is passed on unchanged. Any other
    ///   error is wrapped as `.cacheKeyUnavailable`.
    func encryptionKey() async throws -> EncryptionKey
}

extension EncryptionKey: EncryptionKeyProvider {
    /// Returns this key.
    public func encryptionKey() async throws -> EncryptionKey { self }
}

/// The key in a key file that a pass phrase may protect, for an ``EncryptedTokenCache``.
///
/// Asks for the pass phrase when the key is first needed, once for all concurrent callers, and again only if the file was
/// changed or the pass phrase was wrong. A file without a pass phrase is read like a ``KeyFile``, without a question.
///
/// ```swift
/// let key = PassPhraseKey(try KeyFile(path: path)) { try await window.askPassPhrase() }
/// let cache = EncryptedTokenCache(FileTokenCache(), keyFrom: key)
/// ```
public final class PassPhraseKey: EncryptionKeyProvider {
    private let file: KeyFile
    private let ask: @Sendable () async throws -> String
    private let known = Mutex<(sealed: ProtectedKey, key: EncryptionKey)?>(nil)
    private let flight = SingleFlight<Bool, EncryptionKey>()

    /// - Parameters:
    ///   - file: The key file. It is read each time the key is fetched.
    ///   - passPhrase: Asks the person, within a time limit.
    public init(_ file: KeyFile, passPhrase: @escaping @Sendable () async throws -> String) {
        self.file = file
        ask = passPhrase
    }

    /// Returns the key.
    ///
    /// - Throws: As ``KeyFile/encryptionKey()``; `.cacheKeyUnavailable` for a wrong pass phrase; the errors of the question.
    public func encryptionKey() async throws -> EncryptionKey {
        let sealed: ProtectedKey
        switch try await file.content() {
        case .key(let key): return key
        case .protected(let content): sealed = content
        }
        if let known = known.withLock({ $0 }), known.sealed == sealed { return known.key }
        return try await flight.run(true) { [self] in
            let key = try await file.open(sealed, passPhrase: try await ask())
            known.withLock { $0 = (sealed, key) }
            return key
        }
    }
}

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
