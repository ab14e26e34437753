// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import IdentityClient

/// A place in which a desktop program's tokens may rest.
///
/// ```swift
/// try await cache.move(to: .encryptedFile, in: group)
/// ```
public struct TokenStore: Hashable, Sendable, CustomStringConvertible {
    /// The store's name, as it is remembered: `encrypted-file`, `keyring`, `file` or `memory`.
    public let name: String

    /// Encrypted files, whose key is one item of the keyring: as fast as files, protected as the keyring is.
    public static let encryptedFile = TokenStore(name: "encrypted-file")

    /// The keyring, one item for each record.
    public static let keyring = TokenStore(name: "keyring")

    /// Files in clear text, which only the user may read.
    public static let file = TokenStore(name: "file")

    /// Nowhere: everyone is signed out when the program ends.
    public static let memory = TokenStore(name: "memory")

    /// All of them.
    static let all = [encryptedFile, keyring, file, memory]

    /// Whether it is of no use without a keyring.
    var needsKeyring: Bool { self == .encryptedFile || self == .keyring }

    /// The same as ``name``.
    public var description: String { name }
}

/// Which stores a program accepts, the best first.
///
/// Tokens rest in clear text only where ``TokenStore/file`` is listed.
///
/// ```swift
/// let cache = DesktopTokenCache(
///     applicationName: "Example",
///     policy: .prefer(.encryptedFile, else: .memory)
/// )
/// ```
public struct StorePolicy: Hashable, Sendable {
    /// The stores of which one is chosen, the best first; there is at least one.
    public let stores: [TokenStore]

    /// The stores that are never chosen, and used where the tokens rest in them already.
    public private(set) var alsoAccepted: [TokenStore] = []

    /// Encrypted files, or the keyring where the tokens rest in it already; nothing else.
    public static let standard = StorePolicy.require(.encryptedFile).accepting(.keyring)

    /// This store and nothing else.
    public static func require(_ store: TokenStore) -> StorePolicy {
        StorePolicy(stores: [store])
    }

    /// This store, and where the machine does not have it, the next of `others`.
    public static func prefer(_ store: TokenStore, else others: TokenStore...) -> StorePolicy {
        StorePolicy(stores: [store] + others)
    }

    /// The same policy, which also uses `stores` where the tokens rest in one of them already: where another program of the
    /// group, an earlier version, or a move has put them.
    public func accepting(_ stores: TokenStore...) -> StorePolicy {
        var policy = self
        policy.alsoAccepted += stores
        return policy
    }

    /// Whether tokens that rest in `store` are used.
    public func accepts(_ store: TokenStore) -> Bool {
        stores.contains(store) || alsoAccepted.contains(store)
    }
}

/// Where the tokens of one group rest, and why.
///
/// ```swift
/// print(try await cache.openedStore(for: group).explanation)
/// ```
public struct OpenedStore: Sendable {
    /// The group of programs that share the tokens.
    public let group: CacheGroup

    /// Where they rest.
    public let store: TokenStore

    /// Why it is this store.
    public let reason: Reason

    /// Why a store is the one.
    ///
    /// ```swift
    /// if case .fallback(let error) = opened.reason { warn(error.message) }
    /// ```
    public enum Reason: Sendable {
        /// It was chosen before, and the choice was remembered; or tokens were found in it.
        case remembered
        /// It is the first that the policy lists.
        case preferred
        /// The stores that the policy lists first need a keyring, and there is none. The error says what is missing.
        case fallback(AuthenticationError)
    }

    /// The store and the reason in words, without a secret.
    public var explanation: String {
        switch reason {
        case .remembered: "The store '\(store)' was chosen before."
        case .preferred: "The store '\(store)' is the first of the policy."
        case .fallback(let error): "The store '\(store)' is used because there is no keyring. \(error.message)"
        }
    }
}
