// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Names one record in a TokenCache: a group, a kind and a name.
///
/// The library makes keys; a cache stores and compares them. All three parts are printable ASCII without a path
/// separator, so that they can serve as parts of a file name, of a column or of an attribute.
///
/// ```swift
/// let key = CacheKey(group: group, kind: .account, name: name)
/// let record = try await cache.record(for: key)
/// ```
public struct CacheKey: Hashable, Sendable {
    /// Who shares the record.
    public let group: CacheGroup

    /// What the record is for.
    public let kind: Kind

    /// 64 lower-case hexadecimal digits; they reveal neither a person nor a tenant.
    public let name: String

    /// Creates a key; the library does this, and tests of a cache do.
    public init(group: CacheGroup, kind: Kind, name: String) {
        self.group = group
        self.kind = kind
        self.name = name
    }

    /// Hashes the name alone, which hardly two keys of a cache share.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(name)
    }
}

extension CacheKey {
    /// What a record is for. More kinds may come: a cache treats them all alike.
    public struct Kind: RawRepresentable, Hashable, Sendable {
        /// The kind as a short lower-case ASCII word.
        public let rawValue: String

        /// Creates a kind from its word.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// One account as one client sees it: profiles, ID tokens, refresh token, access tokens.
        public static let account = Kind(rawValue: "account")

        /// What one client remembers in a group apart from its accounts.
        public static let application = Kind(rawValue: "application")

        /// What a provider publishes (metadata and keys). It may be lost at any time.
        public static let provider = Kind(rawValue: "provider")

        /// The exclusive right to refresh one credential. It may rest in volatile storage and needs no sync.
        public static let lease = Kind(rawValue: "lease")
    }
}

extension CacheKey {
    /// The lease that guards the refresh of the credentials under this key.
    var lease: CacheKey {
        CacheKey(group: group, kind: .lease, name: name)
    }

    /// The credentials whose refresh the lease under this key guards.
    var credential: CacheKey {
        CacheKey(group: group, kind: .account, name: name)
    }
}
