// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The name of one record in a TokenCache: a group, a kind and a name.
///
/// The library creates keys; a cache stores and compares them. All three parts are printable ASCII without a path
/// separator, so that they can be parts of a file name, a column or an attribute.
///
/// ```swift
/// let key = CacheKey(group: group, kind: .account, name: name)
/// let record = try await cache.record(for: key)
/// ```
public struct CacheKey: Hashable, Sendable {
    /// The programs that share the record.
    public let group: CacheGroup

    /// The purpose of the record.
    public let kind: Kind

    /// 64 lower-case hexadecimal digits; they reveal neither a person nor a tenant.
    public let name: String

    /// Creates a key, for the library and for tests of a cache.
    public init(group: CacheGroup, kind: Kind, name: String) {
        self.group = group
        self.kind = kind
        self.name = name
    }

    /// Hashes the name alone, because two keys of a cache rarely share a name.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(name)
    }
}

extension CacheKey {
    /// The purpose of a record. Later versions may add kinds: a cache treats all kinds alike.
    ///
    /// ```swift
    /// let file = "\(key.kind.rawValue)-\(key.name).json"
    /// ```
    public struct Kind: RawRepresentable, Hashable, Sendable {
        /// The kind as a short lower-case ASCII word.
        public let rawValue: String

        /// Creates a kind from its word.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The record of one account, as one client sees it: profiles, ID tokens, refresh token, access tokens.
        public static let account = Kind(rawValue: "account")

        /// The record of one client's data in a group, apart from its accounts.
        public static let application = Kind(rawValue: "application")

        /// The record of a provider's published metadata and keys. It may be lost at any time.
        public static let provider = Kind(rawValue: "provider")

        /// The exclusive right to refresh one credential. Volatile storage is enough, and it needs no sync.
        public static let lease = Kind(rawValue: "lease")
    }
}

extension CacheKey {
    /// The key of the lease that guards the refresh of the credentials under this key.
    var lease: CacheKey {
        CacheKey(group: group, kind: .lease, name: name)
    }

    /// The key of the credentials whose refresh the lease under this key guards.
    var credential: CacheKey {
        CacheKey(group: group, kind: .account, name: name)
    }
}
