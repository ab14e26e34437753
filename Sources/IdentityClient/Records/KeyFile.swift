// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire
import SystemSupport

/// A file with the key of an ``EncryptedTokenCache``, for machines without a keyring: a path, or a credential of systemd.
///
/// The file has exactly 32 random bytes, or the same protected by a pass phrase (``PassPhraseKey``). Only its owner may
/// read it (mode 0600 or 0400), and it is no symbolic link. A credential may also belong to root, as systemd makes it. A key
/// is made only by ``create(passPhrase:)`` and ``createIfMissing(passPhrase:)``: a missing key is an error.
///
/// ```swift
/// let cache = EncryptedTokenCache(FileTokenCache(), keyFrom: try KeyFile(credential: "token-key"))
/// ```
/// - SeeAlso: [systemd's credentials](https://systemd.io/CREDENTIALS/)
public struct KeyFile: EncryptionKeyProvider, Hashable {
    private enum Place: Hashable {
        case path(String)
        case credential(String)
    }

    private static let queue = QueueExecutor("identity-client.key-file")
    private let place: Place

    /// Names the key file at a path. Reads nothing.
    ///
    /// - Parameter path: The file. A relative path begins at the current working directory.
    /// - Throws: `AuthenticationError` of the family `.configuration` for a path that does not end with a name, has control characters or begins with `~`.
    public init(path: String) throws {
        guard !path.utf8.hasControls, path.utf8.last != UInt8(ascii: "/"),
            FilePath.parts(of: path).last.map({ $0 != ".." && $0 != "." }) == true
        else {
            throw AuthenticationError(
                .invalidArgument,
                "The path of a key file ends with the file's name, and has no control characters."
            )
        }
        if FilePath.isForShell(path) { throw AuthenticationError.pathForShell(path) }
        place = .path(FilePath.absolute(path, in: SystemCall.workingDirectory ?? "/"))
    }

    /// Names the file of a credential in `$CREDENTIALS_DIRECTORY`, where systemd puts the credentials of a unit with
    /// `LoadCredential=` or `LoadCredentialEncrypted=`. Reads nothing.
    ///
    /// - Throws: `AuthenticationError` of the family `.configuration` for a text that is no credential's name.
    public init(credential name: String) throws {
        guard (1...255).contains(name.utf8.count), name != ".", name != "..",
            name.utf8.allSatisfy({ $0.isVisible && $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: ":") })
        else {
            throw AuthenticationError(
                .invalidArgument,
                "The name of a credential has 1 to 255 printable ASCII characters, without spaces, '/' and ':'."
            )
        }
        place = .credential(name)
    }

    /// Reads a ``description``.
    ///
    /// - Throws: As the other initializers.
    package init(_ text: String) throws {
        // A recorded place is the same in every working directory.
        if let path = text.after("key-file="), path.utf8.first == UInt8(ascii: "/") {
            try self.init(path: path)
        } else if let name = text.after("credential=") {
            try self.init(credential: name)
        } else {
            throw AuthenticationError(
                .invalidArgument,
                "The place of a key is key-file= with an absolute path, or credential= with a name."
            )
        }
    }

    /// Reads the key.
    ///
    /// - Throws: `.cacheKeyUnavailable` if there is no such file or credential, if it cannot be read, is not a key or needs a
    ///   pass phrase; `.cachePermissions` if others can read the file, or if it is not this user's; `.cacheNewerVersion`;
    ///   `CancellationError`.
    public func encryptionKey() async throws -> EncryptionKey {
        switch try await content() {
        case .key(let key): return key
        case .protected:
            throw AuthenticationError(
                .cacheKeyUnavailable,
                "The key '\(self)' is protected by a pass phrase, and the person is not asked for it here."
            )
        }
    }

    /// Whether a pass phrase protects the key.
    ///
    /// - Throws: As ``encryptionKey()``.
    package func isProtected() async throws -> Bool {
        if case .protected = try await content() { true } else { false }
    }

    /// Whether there is no file or credential of that name.
    ///
    /// - Throws: As ``encryptionKey()``.
    package func isMissing() async throws -> Bool {
        let path = path(credentials: SystemCall.environment("CREDENTIALS_DIRECTORY"))
        return try await Self.queue.runUnlessCancelled {
            do {
                return try path.map { try SystemCall.status(of: $0, followingLinks: false) == nil } ?? true
            } catch {
                throw AuthenticationError.fromFileCache(error)
            }
        }
    }

    /// The path of the file; `nil` for a credential where there are none.
    private func path(credentials: String?) -> String? {
        switch place {
        case .path(let path): path
        case .credential(let name): credentials.flatMap { $0.hasPrefix("/") ? "\($0)/\(name)" : nil }
        }
    }

    /// Makes a new random key in a new file of mode 0600, with the missing directories above it. Replaces no file.
    ///
    /// The file appears complete or not at all.
    ///
    /// - Parameter passPhrase: The pass phrase that protects the key; it takes a third of a second and 128 MiB. The default is
    ///   none.
    /// - Throws: `.invalidArgument` for an empty pass phrase, if something has that name, or for a credential, which only
    ///   systemd makes; `.cachePermissions`, `.cacheFull` or `.cache` if the file cannot be written.
    public func create(passPhrase: String? = nil) async throws {
        guard try await isMade(passPhrase) else {
            throw AuthenticationError(
                .invalidArgument,
                "\(self) exists already. It stays as it is, because a key may be needed. Name another file, or use the key "
                    + "that is there (createIfMissing)."
            )
        }
    }

    /// Makes a new random key as ``create(passPhrase:)`` does, unless something has that name. Any number of programs may
    /// call this at the same time: one of them makes the key, and all use it.
    ///
    /// Call it only where a missing key means a first use, not where a disk may be missing: tokens that were encrypted
    /// with another key cannot be read with the new one, and nothing is stored beside them.
    ///
    /// ```swift
    /// let key = try KeyFile(path: "/var/lib/example/token.key")
    /// try await key.createIfMissing()
    /// let cache = EncryptedTokenCache(FileTokenCache(), keyFrom: key)
    /// ```
    ///
    /// - Parameter passPhrase: The pass phrase that protects a new key. The default is none.
    /// - Returns: Whether this call made the key.
    /// - Throws: As ``create(passPhrase:)``, except that an existing file is no error. Whether it is a key is found when it is
    ///   read.
    @discardableResult
    public func createIfMissing(passPhrase: String? = nil) async throws -> Bool {
        try await isMade(passPhrase)
    }

    /// Returns false if something has the name.
    private func isMade(_ passPhrase: String?) async throws -> Bool {
        guard case .path(let path) = place else {
            throw AuthenticationError(.invalidArgument, "A credential is made by systemd-creds, not here.")
        }
        guard passPhrase != "" else { throw AuthenticationError(.invalidArgument, "A pass phrase is not empty.") }
        return try await Self.queue.run {
            do {
                if try SystemCall.status(of: path, followingLinks: false) != nil { return false }
                let key = EncryptionKey.random()
                return try Self.write(
                    try passPhrase.map { try ProtectedKey(key, passPhrase: $0).bytes } ?? key.bytes,
                    to: path
                )
            } catch {
                throw AuthenticationError.fromFileCache(error)
            }
        }
    }
}

extension KeyFile: CustomStringConvertible {
    /// The place, without a secret: `key-file=PATH` or `credential=NAME`.
    public var description: String {
        switch place {
        case .path(let path): "key-file=\(path)"
        case .credential(let name): "credential=\(name)"
        }
    }
}

extension KeyFile {
    enum Content {
        case key(EncryptionKey)
        case protected(ProtectedKey)
    }

    func content() async throws -> Content {
        try await Self.queue.runUnlessCancelled {
            try content(credentials: SystemCall.environment("CREDENTIALS_DIRECTORY"))
        }
    }

    /// - Throws: `.cacheKeyUnavailable` for a wrong pass phrase.
    func open(_ sealed: ProtectedKey, passPhrase: String) async throws -> EncryptionKey {
        let key = try await Self.queue.runUnlessCancelled { try sealed.key(passPhrase: passPhrase) }
        guard let key else {
            throw AuthenticationError(
                .cacheKeyUnavailable,
                "The pass phrase does not open the key '\(self)'. The tokens are not changed. Try again."
            )
        }
        return key
    }

    /// - Parameter credentials: The directory of the credentials.
    func content(credentials: String?) throws -> Content {
        guard let path = path(credentials: credentials) else {
            throw AuthenticationError(
                .cacheKeyUnavailable,
                "The key '\(self)' comes from systemd, and there is no CREDENTIALS_DIRECTORY. Only the processes of a unit with "
                    + "LoadCredential= or LoadCredentialEncrypted= have it: run this there. The tokens are not changed."
            )
        }
        let name = isCredential ? "The credential \(path)" : "The key file \(path)"
        let file: Descriptor?
        do {
            file = try Descriptor.file(at: path)
        } catch {
            throw AuthenticationError(
                .cacheKeyUnavailable,
                "\(name) cannot be opened: \(error.isLink ? "it is a symbolic link" : error.reason). The tokens are not "
                    + "changed, and can be read again when it can.",
                underlyingError: error
            )
        }
        guard let file else {
            throw AuthenticationError(
                .cacheKeyUnavailable,
                "\(name) does not exist. \(remedyIfMissing)"
            )
        }
        do {
            var status = try file.status()
            if status.links > 1, !isCredential {
                Self.removeTemporaryName(of: status.fingerprint, beside: path)
                status = try file.status()
            }
            try check(status, path: path, name: name)
            let bytes = try file.read(atMost: ProtectedKey.length + 1)
            if ProtectedKey.isProtected(bytes), bytes.count != 32 {
                return .protected(try ProtectedKey(bytes, name: name))
            }
            guard bytes.count == 32 else {
                throw AuthenticationError(
                    .cacheKeyUnavailable,
                    "\(name) is not a key: it does not have exactly 32 bytes. Bring the key back from a copy."
                )
            }
            return .key(try EncryptionKey(bytes))
        } catch {
            throw AuthenticationError.fromFileCache(error)
        }
    }

    private var isCredential: Bool { if case .credential = place { true } else { false } }

    /// Whether this is a first use cannot be known here, so both cases have their sentence.
    private var remedyIfMissing: String {
        let first =
            isCredential
            ? "For a first use, make it with systemd-creds."
            : "For a first use, make it, as 'identityctl cache create-key' does."
        return "\(first) If tokens were encrypted with it before, they are unchanged, and can be read when it is back."
    }

    /// Checks that no other user can have read or made the file.
    private func check(_ status: FileStatus, path: String, name: String) throws {
        guard status.kind == .file else { throw SecureFile.refusal("\(name) is not a plain file.") }
        let user = SystemCall.effectiveUser
        guard status.owner == user || isCredential && status.owner == 0 else {
            throw SecureFile.refusal(
                "\(name) belongs to user \(status.owner), but this program runs as user \(user). Run it as that user."
            )
        }
        guard status.links <= 1 else {
            throw SecureFile.refusal("\(name) has a second name (a hard link). Remove that name.")
        }
        // Where systemd lets the unit's user read root's file by an access list, the group's bits show that list's mask.
        let allowed: UInt32 = isCredential ? 0o640 : 0o600
        guard status.mode & 0o777 & ~allowed == 0 else {
            throw SecureFile.refusal(
                "\(name) is open to other users (mode \(String(status.mode, radix: 8))). If no other user has read it, run: "
                    + "chmod 600 \(path.shellWord). Otherwise move the tokens to a new key."
            )
        }
    }

    /// The directory and the name of an absolute path.
    private static func parts(of path: String) -> (directory: String, name: String) {
        let end = path.utf8.lastIndex(of: UInt8(ascii: "/")) ?? path.startIndex
        let name = String(Substring(path[end...].utf8.dropFirst()))
        return (end == path.startIndex ? "/" : String(path[..<end]), name)
    }

    /// Writes a new file; returns false if something has that name.
    private static func write(_ bytes: [UInt8], to path: String) throws -> Bool {
        let (parent, name) = parts(of: path)
        if try SystemCall.status(of: parent, followingLinks: true) == nil {
            let (above, last) = parts(of: parent)
            try SecureDirectory.create(above, last)
        }
        guard let directory = try Descriptor.directory(parent) else {
            throw AuthenticationError(.cache, "\(parent) was removed meanwhile. Try again.")
        }
        // A link replaces nothing, and no reader sees half a key.
        let temporary = FileCacheName.temporary(0)
        let file = try directory.newFile(temporary)
        defer { try? directory.remove(temporary) }  // An empty name, or a second one, which a reader may have removed.
        try file.write(bytes)
        try file.synchronize()
        do {
            try directory.link(temporary, as: name)
        } catch {
            guard error.isExistence else { throw error }
            return false
        }
        try directory.synchronize()
        return true
    }

    /// Removes the name under which a maker wrote the key, and which it left if it was killed between giving the key its own
    /// name and removing this one.
    private static func removeTemporaryName(of key: FileFingerprint, beside path: String) {
        // If anything fails here, the key is refused with its reason.
        guard let directory = try? Descriptor.directory(parts(of: path).directory),
            let names = try? directory.names()
        else { return }
        for name in names where FileCacheName.isTemporary(name, stripe: 0) {
            guard let other = try? directory.status(of: name)?.fingerprint, other.inode == key.inode,
                other.device == key.device
            else { continue }
            try? directory.remove(name)
        }
    }
}

extension String {
    /// The text after a prefix; `nil` if the text does not begin with it.
    fileprivate func after(_ prefix: String) -> String? {
        hasPrefix(prefix) ? String(dropFirst(prefix.count)) : nil
    }
}

extension AuthenticationError {
    /// A path that begins with `~`, and would name a folder in the working directory.
    package static func pathForShell(_ path: String) -> AuthenticationError {
        AuthenticationError(
            .invalidArgument,
            "The path '\(WireText.clean(path).prefix(200))' begins with ~, which only a shell replaces. Give an absolute path."
        )
    }
}
