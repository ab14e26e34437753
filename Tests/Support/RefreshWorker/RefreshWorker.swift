// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityCacheTesting
import IdentityClient
import IdentityKeyring
import IdentityMSALCaches
import IdentityMSALKeyring
import IdentityPostgreSQL
import IdentityTesting

/// A separate program that shares a token cache with others and takes its instructions from the tests.
@main struct RefreshWorker {
    static func main() async throws {
        let words = CommandLine.arguments
        if words.count == 6, words[1] == "share" {
            return try await SharingWriter(
                file: words[2],
                clientID: words[3],
                others: words[4],
                count: Int(words[5]) ?? 0
            ).run()
        }
        if words.count > 6, words[1] == "history" {
            let cache = try cache(Array(words.dropFirst(6)))
            return try await HistoryWriter(
                cache,
                group: words[2],
                log: words[3],
                count: Int(words[4]) ?? 0,
                mistake: words[5]
            ).run()
        }
        if words.count == 2, words[1] == "table" {
            let table = PostgreSQLTokenCache.Table.standard
            return print(table.definition, table.grants(to: "worker"), separator: "\n")
        }
        if words.count == 3, words[1] == "measure" {
            return try await PostgreSQLMeasurement(connection: words[2]).run()
        }
        try await TokenCacheWorker.run(try cache(Array(CommandLine.arguments.dropFirst())))
    }

    /// file DIRECTORY, encrypted DIRECTORY KEY, keyring BUS DIRECTORY, shared FILE DIRECTORY, shared-item BUS FILE DIRECTORY, or
    /// postgresql CONNECTION
    private static func cache(_ words: [String]) throws -> any TokenCache {
        switch (words.first, words.count) {
        case ("file", 2): return FileTokenCache(directory: words[1])
        case ("encrypted", 3):
            let bytes = words[2].split(separator: ",").compactMap { UInt8($0) }
            return EncryptedTokenCache(FileTokenCache(directory: words[1]), key: try EncryptionKey(bytes))
        case ("keyring", 3):
            return keyring(bus: words[1], directory: words[2])
        case ("shared", 3):
            let others = FileTokenCache(directory: words[2])
            return try SharedMSALCache(.file(words[1]), clientID: "test-client", fallback: others)
        case ("shared-item", 4):
            let keyring = keyring(bus: words[1], directory: words[3])
            return SharedMSALKeyringCache(.python(file: words[2]), clientID: "test-client", keyring: keyring)
        case ("postgresql", 2): return PostgreSQLTokenCache(connectionString: words[1])
        default: throw UnknownCache(words: words)
        }
    }

    private static func keyring(bus: String, directory: String) -> KeyringTokenCache {
        var settings = KeyringSettings()
        settings.busAddress = bus
        settings.directory = directory
        return KeyringTokenCache(applicationName: "Test", settings: settings)
    }

    struct UnknownCache: Error { let words: [String] }
}
