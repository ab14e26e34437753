// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import Synchronization

/// The remembered facts about a group's store.
struct StoreMark: Equatable, Sendable {
    /// Where the tokens rest.
    let store: TokenStore
    /// How often they were moved.
    var moves = 0
    /// A store that an unfinished move has left copies in, which count for nothing.
    var copies: TokenStore?
    /// Whether the store was chosen only because there was no keyring.
    var isFallback = false
}

/// Remembers which store a group's tokens rest in: a small file beside the data, without a secret.
final class StoreMarker: Sendable {
    private struct Content: Codable {
        var v = 1
        let store: String
        var moves: Int?
        var copies: String?
        var fallback: Bool?
    }

    private let files: FileTokenCache
    /// The record that was read last for each group, and its decoded form.
    private let known = Mutex<[CacheGroup: (record: CacheRecord, mark: StoreMark)]>([:])

    init(_ files: FileTokenCache) {
        self.files = files
    }

    /// Returns the remembered store.
    ///
    /// - Throws: `.cacheNewerVersion` if this version does not know the store; the errors of reading a file cache.
    func mark(of group: CacheGroup) async throws -> StoreMark? {
        guard let record = try await files.record(for: Self.key(group)) else { return nil }
        if let known = known.withLock({ $0[group] }), known.record == record { return known.mark }
        let mark = try Self.decoded(record)
        known.withLock { $0[group] = (record, mark) }
        return mark
    }

    /// Remembers `store` unless another process was first.
    ///
    /// - Parameter isFallback: Whether it was chosen only because there was no keyring.
    /// - Returns: The store that is remembered now.
    func remember(
        _ store: TokenStore,
        for group: CacheGroup,
        isFallback: Bool = false
    ) async throws -> StoreMark {
        let mark = StoreMark(store: store, isFallback: isFallback)
        for _ in 0..<8 {
            if let known = try await self.mark(of: group) { return known }
            if try await files.replace(nil, with: Self.encoded(mark), for: Self.key(group)) { return mark }
        }
        throw Self.busy
    }

    /// Remembers `new` in place of `old`.
    ///
    /// - Throws: `.cacheBusy` when another process was first.
    func change(_ old: StoreMark?, to new: StoreMark, for group: CacheGroup) async throws {
        let current = try await files.record(for: Self.key(group))
        guard try current.map(Self.decoded) == old,
            try await files.replace(current, with: Self.encoded(new), for: Self.key(group))
        else { throw Self.busy }
    }

    /// Forgets which store it is.
    func forget(_ group: CacheGroup) async throws {
        let key = Self.key(group)
        guard let record = try await files.record(for: key) else { return }
        guard try await files.replace(record, with: nil, for: key) else { throw Self.busy }
    }

    static func key(_ group: CacheGroup) -> CacheKey {
        CacheKey(group: group, kind: CacheKey.Kind(rawValue: "store"), name: "marker")
    }

    private static func encoded(_ mark: StoreMark) throws -> CacheRecord {
        let moves = mark.moves == 0 ? nil : mark.moves
        let fallback = mark.isFallback ? true : nil
        let content = Content(store: mark.store.name, moves: moves, copies: mark.copies?.name, fallback: fallback)
        return CacheRecord(bytes: Array(try JSONEncoder().encode(content)))
    }

    private static func decoded(_ record: CacheRecord) throws -> StoreMark {
        // Damaged or newer: either way it is not for this version to guess where the tokens are.
        let content = try? JSONDecoder().decode(Content.self, from: Data(record.bytes))
        guard let content, let store = Self.store(content.store) else {
            throw AuthenticationError(
                .cacheNewerVersion,
                "The file store-marker.json beside the tokens does not say in which store they rest, or names one that "
                    + "this version does not know. Update the program; remove the file only to sign in anew."
            )
        }
        return StoreMark(
            store: store,
            moves: content.moves ?? 0,
            copies: content.copies.flatMap(Self.store),
            isFallback: content.fallback ?? false
        )
    }

    private static func store(_ name: String) -> TokenStore? {
        TokenStore.all.first { $0.name == name }
    }

    /// Made anew each time, for the time in it.
    private static var busy: AuthenticationError {
        AuthenticationError(.cacheBusy, "Another process moves the sign-ins to another store. Try again.")
    }
}
