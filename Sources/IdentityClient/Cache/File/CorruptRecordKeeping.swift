// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// A cache that can put a record which nobody can read out of the way, and keep it for whoever wants to look at it.
package protocol CorruptRecordKeeping: TokenCache {
    /// Whether it can, which for a cache around another depends on that one. `true` unless it says otherwise.
    var keepsCorruptRecords: Bool { get }

    /// Takes `record` away from under `key`, and keeps it where the storage outlasts the program.
    ///
    /// - Returns: The record's new place, to be reported; `nil` where it was kept nowhere.
    /// - Throws: `.cacheBusy` when something else is stored under `key` meanwhile: read it again. `.cache` and its
    ///   other second levels when the storage fails.
    func setAside(_ key: CacheKey, record: CacheRecord) async throws -> String?
}

extension CorruptRecordKeeping {
    package var keepsCorruptRecords: Bool { true }
}
