// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient

/// Remembers which store a group's tokens rest in: a small file beside the data, without a secret.
struct StoreMarker: Sendable {
    private struct Content: Codable {
        var v = 1
        let store: String
    }

    private let files: FileTokenCache

    init(_ files: FileTokenCache) {
        self.files = files
    }

    /// The store that is remembered.
    ///
    /// - Throws: `.cacheNewerVersion` when this version does not know it; what reading a file cache throws.
    func store(of group: CacheGroup) async throws -> TokenStore? {
        try await files.record(for: Self.key(group)).map(Self.decoded)
    }

    /// Remembers `store` unless another process was first.
    ///
    /// - Returns: The store that is remembered now.
    func remember(_ store: TokenStore, for group: CacheGroup) async throws -> TokenStore {
        for _ in 0..<8 {
            if let known = try await self.store(of: group) { return known }
            if try await files.replace(nil, with: Self.encoded(store), for: Self.key(group)) { return store }
        }
        throw Self.busy
    }

    /// Remembers `store` in place of `old`.
    ///
    /// - Throws: `.cacheBusy` when another process has moved the tokens meanwhile.
    func change(_ old: TokenStore, to store: TokenStore, for group: CacheGroup) async throws {
        let current = try await files.record(for: Self.key(group))
        let isOld = try current.map(Self.decoded).map { $0 == old } ?? true
        guard isOld, try await files.replace(current, with: Self.encoded(store), for: Self.key(group)) else {
            throw Self.busy
        }
    }

    private static func key(_ group: CacheGroup) -> CacheKey {
        CacheKey(group: group, kind: CacheKey.Kind(rawValue: "store"), name: "marker")
    }

    private static func encoded(_ store: TokenStore) throws -> CacheRecord {
        CacheRecord(bytes: Array(try JSONEncoder().encode(Content(store: store.name))))
    }

    private static func decoded(_ record: CacheRecord) throws -> TokenStore {
        // Damaged or newer: either way it is not for this version to guess where the tokens are.
        let content = try? JSONDecoder().decode(Content.self, from: Data(record.bytes))
        guard let content, let store = TokenStore.all.first(where: { $0.name == content.store }) else {
            throw AuthenticationError(
                .cacheNewerVersion,
                "The file store-marker.json beside the tokens does not say in which store they rest, or names one that "
                    + "this version does not know. Update the program; remove the file only to sign in anew."
            )
        }
        return store
    }

    private static let busy = AuthenticationError(
        .cacheBusy,
        "Another process moves the sign-ins to another store. Try again."
    )
}
