// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import Synchronization

/// The recorded facts about a group's store.
struct StoreMark: Equatable, Sendable {
    /// The store that holds the tokens.
    let store: TokenLocation
    /// The number of moves so far.
    var moves = 0
    /// The store with the copies of an unfinished move. The copies are not used.
    var copies: TokenLocation?
    /// Whether the store was chosen only for want of a keyring.
    var isFallback = false
}

/// Records the store of each group in a small file beside the data, without a secret.
final class StoreMarker: Sendable {
    private struct Content: Codable {
        var v = 1
        let store: String
        var moves: Int?
        var copies: String?
        var fallback: Bool?
    }

    private let files: FileTokenCache
    /// The last record of each group, and its decoded form.
    private let known = Mutex<[CacheGroup: (record: CacheRecord, mark: StoreMark)]>([:])

    init(_ files: FileTokenCache) {
        self.files = files
    }

    /// Returns the recorded facts, or `nil` if no store was chosen.
    ///
    /// - Throws: `.cacheNewerVersion` if this version does not know the store; the errors of reading a file cache.
    func mark(of group: CacheGroup) async throws -> StoreMark? {
        guard let record = try await files.record(for: Self.key(group)) else { return nil }
        if let known = known.withLock({ $0[group] }), known.record == record { return known.mark }
        let mark = try Self.decoded(record)
        known.withLock { $0[group] = (record, mark) }
        return mark
    }

    /// Records `store` unless another process was first.
    ///
    /// - Parameter isFallback: Whether the store was chosen only for want of a keyring.
    /// - Returns: The facts that are recorded now.
    func remember(
        _ store: TokenLocation,
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

    /// Records `new` in place of `old`.
    ///
    /// - Throws: `.cacheBusy` if another process was first.
    func change(_ old: StoreMark?, to new: StoreMark, for group: CacheGroup) async throws {
        let current = try await files.record(for: Self.key(group))
        guard try current.map(Self.decoded) == old,
            try await files.replace(current, with: Self.encoded(new), for: Self.key(group))
        else { throw Self.busy }
    }

    /// Removes the record of the store.
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
        // The marker is damaged or newer. This version must not guess which store holds the tokens.
        let content = try? JSONDecoder().decode(Content.self, from: Data(record.bytes))
        guard let content, let store = TokenLocation(named: content.store) else {
            throw AuthenticationError(
                .cacheNewerVersion,
                "The file store-marker.json beside the tokens names no store that this version knows. Update the program. "
                    + "Remove the file only to sign in again."
            )
        }
        return StoreMark(
            store: store,
            moves: content.moves ?? 0,
            copies: content.copies.flatMap(TokenLocation.init(named:)),
            isFallback: content.fallback ?? false
        )
    }

    /// A new error each time, because an error contains its time.
    private static var busy: AuthenticationError {
        AuthenticationError(.cacheBusy, "Another process is moving the sign-ins to another store. Try again.")
    }
}
