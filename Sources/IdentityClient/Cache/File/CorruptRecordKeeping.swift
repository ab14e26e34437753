// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// A cache that can set an unreadable record aside and keep it for inspection.
package protocol CorruptRecordKeeping: TokenCache {
    /// Whether the cache can do so. A cache around another cache returns that cache's value. The default is `true`.
    var keepsCorruptRecords: Bool { get }

    /// Moves `record` away from `key` and keeps it, if the storage outlasts the program.
    ///
    /// - Returns: The record's new location, for the report; `nil` if it was not kept.
    /// - Throws: `.cacheBusy` when another record is stored under `key` meanwhile: read it again. `.cache` and its
    ///   other second levels when the storage fails.
    func setAside(_ key: CacheKey, record: CacheRecord) async throws -> String?
}

extension CorruptRecordKeeping {
    package var keepsCorruptRecords: Bool { true }
}
