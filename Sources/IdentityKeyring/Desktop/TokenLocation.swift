// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import IdentityClient

/// A place for a desktop program's tokens.
///
/// ```swift
/// try await cache.move(to: .encryptedFile, in: group)
/// ```
public struct TokenLocation: Hashable, Sendable, CustomStringConvertible {
    /// The location's name in the recorded choice: `encrypted-file`, `keyring`, `file` or `memory`; for
    /// ``encryptedFile(key:)`` also the place of the key, such as `encrypted:credential=token-key`.
    public let name: String
    /// The key of encrypted files outside the keyring.
    package let keyFile: KeyFile?

    private init(name: String, keyFile: KeyFile? = nil) {
        self.name = name
        self.keyFile = keyFile
    }

    /// Encrypted files. Their key is one item of the keyring: they are as fast as files, and protected like the keyring.
    public static let encryptedFile = TokenLocation(name: "encrypted-file")

    /// Encrypted files. Their key is in a file or a credential of systemd: for machines without a keyring.
    ///
    /// Each place of a key has its own files, so that moving the tokens to another key never mixes the two.
    public static func encryptedFile(key: KeyFile) -> TokenLocation {
        TokenLocation(name: "\(keyFilePrefix)\(key)", keyFile: key)
    }

    /// The keyring, one item for each record.
    public static let keyring = TokenLocation(name: "keyring")

    /// Files in clear text, which only the user can read.
    public static let file = TokenLocation(name: "file")

    /// Memory only: all accounts are signed out when the program ends.
    public static let memory = TokenLocation(name: "memory")

    private static let keyFilePrefix = "encrypted:"

    /// Returns the location with a recorded name, or `nil` if this version does not know it.
    init?(named name: String) {
        if let location = [Self.encryptedFile, .keyring, .file, .memory].first(where: { $0.name == name }) {
            self = location
        } else {
            // A key's place that this version cannot use is a location that it does not know.
            guard name.hasPrefix(Self.keyFilePrefix),
                let key = try? KeyFile(String(name.dropFirst(Self.keyFilePrefix.count)))
            else { return nil }
            self = .encryptedFile(key: key)
        }
    }

    /// Whether the key of encrypted files is outside the keyring.
    package var hasKeyFile: Bool { keyFile != nil }

    /// Whether the location needs a keyring.
    package var needsKeyring: Bool { self == .encryptedFile || self == .keyring }

    /// The same as ``name``.
    public var description: String { name }
}

/// The locations that a program accepts, the best first.
///
/// Tokens are stored in clear text only if ``TokenLocation/file`` is listed.
///
/// ```swift
/// let cache = DesktopTokenCache(
///     applicationName: "Example",
///     policy: .prefer(.encryptedFile, else: .memory)
/// )
/// ```
public struct LocationPolicy: Hashable, Sendable {
    /// The locations of which one is chosen, the best first; at least one.
    public let locations: [TokenLocation]

    /// The locations that are never chosen, but used if they already hold the tokens.
    public private(set) var alsoAccepted: [TokenLocation] = []

    /// Whether encrypted files with any key outside the keyring are used if they already hold the tokens.
    private var acceptsAnyKeyFile = false

    /// Encrypted files, or the keyring if it already holds the tokens; no other location.
    public static let standard = LocationPolicy.require(.encryptedFile).accepting(.keyring)

    /// Returns a policy with this location only.
    public static func require(_ location: TokenLocation) -> LocationPolicy {
        LocationPolicy(locations: [location])
    }

    /// Returns a policy with this location and, if the machine does not have it, the next of `others`.
    public static func prefer(_ location: TokenLocation, else others: TokenLocation...) -> LocationPolicy {
        LocationPolicy(locations: [location] + others)
    }

    /// Returns the same policy, which also uses `locations` if one of them already holds the tokens, because of another program
    /// of the group, an earlier version, or a move.
    public func accepting(_ locations: TokenLocation...) -> LocationPolicy {
        var policy = self
        policy.alsoAccepted += locations
        return policy
    }

    /// Returns the same policy, which also uses encrypted files with any key outside the keyring if they already hold the
    /// tokens.
    package func acceptingAnyKeyFile() -> LocationPolicy {
        var policy = self
        policy.acceptsAnyKeyFile = true
        return policy
    }

    /// Whether tokens at `location` are used.
    public func accepts(_ location: TokenLocation) -> Bool {
        locations.contains(location) || alsoAccepted.contains(location) || acceptsAnyKeyFile && location.hasKeyFile
    }
}

/// The location of one group's tokens, and the reason for it.
///
/// ```swift
/// print(try await cache.openedLocation(for: group).explanation)
/// ```
public struct OpenedLocation: Sendable {
    /// The group of programs that share the tokens.
    public let group: CacheGroup

    /// The location that holds the tokens.
    public let location: TokenLocation

    /// The reason for this location.
    public let reason: Reason

    /// The reason for the choice of a location.
    ///
    /// ```swift
    /// if case .fallback(let error) = opened.reason { warn(error.message) }
    /// ```
    @nonexhaustive public enum Reason: Sendable {
        /// The location was chosen before, or tokens were found there.
        case remembered
        /// The location is the first that the policy lists.
        case preferred
        /// The locations that the policy lists first need a keyring, and there is none. The error names the missing part.
        case fallback(AuthenticationError)
    }

    /// The location and the reason in words, without a secret.
    public var explanation: String {
        switch reason {
        case .remembered: "The store '\(location)' was chosen before."
        case .preferred: "The store '\(location)' is the first of the policy."
        case .fallback(let error): "The store '\(location)' is used because there is no keyring. \(error.message)"
        }
    }
}
