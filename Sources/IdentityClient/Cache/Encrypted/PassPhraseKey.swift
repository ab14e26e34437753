// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

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
