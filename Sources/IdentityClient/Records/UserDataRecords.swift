// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import OAuthWire
import Synchronization
import SystemSupport

/// The data that a program keeps with its accounts, in one record for each account.
struct UserDataRecords: Sendable {
    let store: CredentialStore
    let scope: String

    /// The largest data of one account, in bytes of JSON.
    static let limit = 64 * 1024

    fileprivate struct Envelope<Value> {
        var data: Value
    }

    func key(for id: Account.ID) -> CacheKey {
        CacheKey(
            group: store.group,
            kind: .application,
            name: Digest.hexadecimal(of: ["user_data", scope, id.rawValue])
        )
    }

    func value<Value: Decodable>(of id: Account.ID) async throws -> Value? {
        try Self.decoded(try await store.applicationRecord(key(for: id)))
    }

    /// Overwrites the existing data, whatever its form.
    func set(_ value: (some Encodable)?, of id: Account.ID) async throws {
        let record = try value.map { try Self.encoded($0) }
        try await store.updateApplicationRecord(key(for: id)) { _ in record }
    }

    func update<Value: Codable>(of id: Account.ID, _ change: (inout Value?) throws -> Void) async throws {
        try await store.updateApplicationRecord(key(for: id)) { record in
            var value: Value? = try Self.decoded(record)
            try change(&value)
            return try value.map { try Self.encoded($0) }
        }
    }

    func remove(of id: Account.ID) async throws {
        try await store.updateApplicationRecord(key(for: id)) { _ in nil }
    }

    private static func decoded<Value: Decodable>(_ record: CacheRecord?) throws -> Value? {
        guard let record else { return nil }
        do {
            return try JSONDecoder().decode(Envelope<Value>.self, from: Data(record.bytes)).data
        } catch {
            throw AuthenticationError(
                .invalidArgument,
                "The account's user data was written in another form than \(Value.self): read it as what it is, or set it anew.",
                underlyingError: error
            )
        }
    }

    private static func encoded(_ value: some Encodable) throws -> CacheRecord {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let bytes: [UInt8]
        do {
            bytes = Array(try encoder.encode(Envelope(data: value)))
        } catch {
            throw AuthenticationError(
                .invalidArgument,
                "The account's user data cannot be written as JSON.",
                underlyingError: error
            )
        }
        guard bytes.count <= limit else {
            throw AuthenticationError(
                .invalidArgument,
                "The account's user data has \(bytes.count) bytes as JSON; at most \(limit) are kept. Keep a file's name instead."
            )
        }
        return CacheRecord(bytes: bytes)
    }
}

extension UserDataRecords.Envelope: Encodable where Value: Encodable {}
extension UserDataRecords.Envelope: Decodable where Value: Decodable {}
