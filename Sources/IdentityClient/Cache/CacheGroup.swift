// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The set of programs that share records: one client alone, or a group that several programs name.
///
/// A named group stands in for a keychain sharing group. It is a trust domain: every member can read every other
/// member's tokens.
///
/// ```swift
/// configuration.cacheGroup = try CacheGroup("com.example.suite")  // the suite's programs share one sign-in
/// ```
public struct CacheGroup: Hashable, Sendable {
    /// The group's name: 1 to 64 of the characters `a-z`, `0-9`, `.`, `-` and `_`, not beginning with a dot.
    public let name: String

    /// Creates a group that every program naming it shares.
    ///
    /// - Parameter name: For example `com.example.suite`. Upper-case letters are lowered.
    /// - Throws: `AuthenticationError.configuration` when the name is empty, too long or contains other characters.
    public init(_ name: String) throws {
        let name = name.lowercased()
        guard Self.isValid(name) else {
            throw AuthenticationError(
                .invalidArgument,
                "The cache group's name must be 1 to 64 of the characters a-z, 0-9, '.', '-', '_' and not begin with a dot."
            )
        }
        self.name = name
    }

    init(unchecked name: String) {
        self.name = name
    }

    private static func isValid(_ name: String) -> Bool {
        (1...64).contains(name.utf8.count) && name.utf8.first != UInt8(ascii: ".")
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
                case UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"): true
                default: false
                }
            }
    }
}

extension CacheGroup {
    /// Returns the group of one client alone. Programs of other clients do not read it.
    public static func application(_ clientID: ClientID) -> CacheGroup {
        CacheGroup(unchecked: "client-" + Digest.hexadecimal(of: [clientID.rawValue]).prefix(32))
    }
}

extension CacheGroup {
    /// The group of the records that are kept beside a store that this group shares with other programs.
    ///
    /// - Parameter store: A name of the store. It is not readable in the group's name.
    package func beside(_ store: String) -> CacheGroup {
        CacheGroup(unchecked: "beside-" + Digest.hexadecimal(of: ["beside", store, name]).prefix(32))
    }
}
