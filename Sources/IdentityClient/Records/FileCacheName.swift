// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire
import Synchronization
import SystemSupport

/// The names of the files in a group's directory of a ``FileTokenCache``. Files with other names are not the cache's.
enum FileCacheName {
    /// The number of locks in a group's directory.
    static let stripes = 16

    /// Returns the name of a record's file: `account-<name>.json`.
    /// - Throws: `.invalidArgument` when the key cannot be part of a file name.
    static func record(_ key: CacheKey) throws -> String {
        guard isKind(key.kind.rawValue), isName(key.name), isGroup(key.group.name) else {
            throw AuthenticationError(
                .invalidArgument,
                "A cache key needs a kind of the characters a-z, 0-9 and '_', and a name of at most 128 of the characters "
                    + "A-Z, a-z, 0-9, '_' and '-'."
            )
        }
        return "\(key.kind.rawValue)-\(key.name).json"
    }

    /// Returns the key of the record in `file`, or `nil` if it holds no record.
    static func key(_ file: String, group: CacheGroup) -> CacheKey? {
        let kind = String(file.prefix { $0 != "-" })
        let name = String(file.dropFirst(kind.count + 1).dropLast(5))
        guard isKind(kind), isName(name), file.hasSuffix(".json") else { return nil }
        return CacheKey(group: group, kind: CacheKey.Kind(rawValue: kind), name: name)
    }

    /// Returns the number of the lock that guards the record in `file`: the same in every process and version (FNV-1a).
    static func stripe(_ file: String) -> Int {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in file.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        return Int(hash % UInt64(stripes))
    }

    /// Returns the name of a stripe's lock file. The file is never removed: removing a lock file splits the lock in
    /// two.
    static func lock(_ stripe: Int) -> String {
        ".lock-\(stripe)"
    }

    /// Returns a new name for a file that is written under the lock of `stripe`.
    static func temporary(_ stripe: Int) -> String {
        temporaryPrefix(stripe) + String(UInt64.random(in: .min ... .max), radix: 16)
    }

    /// Returns whether `file` was being written under the lock of `stripe`.
    static func isTemporary(_ file: String, stripe: Int) -> Bool {
        file.hasPrefix(temporaryPrefix(stripe))
    }

    private static func temporaryPrefix(_ stripe: Int) -> String {
        ".new-\(stripe)-"
    }

    private static func isKind(_ kind: String) -> Bool {
        (1...32).contains(kind.utf8.count)
            && kind.utf8.allSatisfy { isLower($0) || $0.isDigit || $0 == UInt8(ascii: "_") }
    }

    private static func isName(_ name: String) -> Bool {
        (1...128).contains(name.utf8.count)
            && name.utf8.allSatisfy { $0.isAlphanumeric || $0 == UInt8(ascii: "_") || $0 == UInt8(ascii: "-") }
    }

    private static func isGroup(_ group: String) -> Bool {
        (1...128).contains(group.utf8.count) && group.utf8.first != UInt8(ascii: ".")
            && group.utf8.allSatisfy { $0.isVisible && $0 != UInt8(ascii: "/") }
    }

    private static func isLower(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
    }
}
