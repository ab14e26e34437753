// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityCacheTesting
import IdentityClient
import IdentityKeyring
import IdentityMSALCaches
import IdentityMSALKeyring
import IdentityPostgreSQL
import IdentityTestSupport
import IdentityTesting
import Testing

/// A kind of storage shared by the processes.
enum Store: String, CaseIterable, Sendable, CustomStringConvertible {
    case file, encrypted, keyring, shared, postgresql
    case sharedItem = "shared-item"

    /// The name in the lines that `Scripts/soak` reads.
    var description: String { rawValue }

    /// The kinds to test: files, encrypted or not, unless `IDENTITY_SOAK_STORES` names others. The keyring needs its
    /// own session, which the scripts start, and PostgreSQL a server, which `Scripts/test-postgresql` starts.
    static let chosen: [Store] = {
        let names = ProcessInfo.processInfo.environment["IDENTITY_SOAK_STORES"] ?? "file,encrypted"
        return names.split(separator: ",").compactMap { Store(rawValue: String($0)) }
    }()

    /// The kind of provider: in a store of other programs are only Microsoft's accounts.
    var profile: TestIdentityProvider.Profile { self == .shared || self == .sharedItem ? .entra : .openIDConnect }

    /// The bus address of the keyring's session.
    static var bus: String? { ProcessInfo.processInfo.environment["IDENTITY_SOAK_BUS"] }
}

/// A cache of one kind, and the command that starts a worker on the same storage.
struct Storage: Sendable {
    let directory: TemporaryDirectory
    let cache: any TokenCache
    let command: [String]
    let store: Store

    init(_ store: Store, directory given: TemporaryDirectory? = nil, bus ownBus: String? = nil) throws {
        self.store = store
        directory = try given ?? TemporaryDirectory()
        let path = "\(directory.path)/cache"
        let worker = try Self.worker()
        switch store {
        case .file:
            cache = FileTokenCache(directory: path)
            command = [worker, "file", path]
        case .encrypted:
            let key = (0..<32).map { _ in UInt8.random(in: .min ... .max) }
            cache = EncryptedTokenCache(FileTokenCache(directory: path), key: try EncryptionKey(key))
            command = [worker, "encrypted", path, key.map(String.init).joined(separator: ",")]
        case .keyring:
            let bus = try Self.bus(ownBus)
            cache = KeyringTokenCache(applicationName: "Test", settings: Self.settings(bus, path))
            command = [worker, "keyring", bus, path]
        case .shared:
            let file = "\(directory.path)/msal.json"
            cache = try SharedMSALCache(.file(file), clientID: "test-client", fallback: FileTokenCache(directory: path))
            command = [worker, "shared", file, path]
        case .sharedItem:
            let (bus, file) = (try Self.bus(ownBus), "\(directory.path)/item")
            // An item of its own for each storage: its schema is the file's.
            cache = SharedMSALKeyringCache(
                .python(file: file),
                clientID: "test-client",
                keyring: KeyringTokenCache(applicationName: "Test", settings: Self.settings(bus, path))
            )
            command = [worker, "shared-item", bus, file, path]
        case .postgresql:
            let connection = ProcessInfo.processInfo.environment["IDENTITY_SOAK_POSTGRESQL"]
            let server = try #require(connection, "IDENTITY_SOAK_POSTGRESQL has to name a server for tests")
            cache = PostgreSQLTokenCache(connectionString: server)
            command = [worker, "postgresql", server]
        }
    }

    private static func bus(_ own: String?) throws -> String {
        try #require(own ?? Store.bus, "IDENTITY_SOAK_BUS has to name the bus of a keyring for tests")
    }

    private static func settings(_ bus: String, _ directory: String) -> KeyringSettings {
        var settings = KeyringSettings()
        settings.busAddress = bus
        settings.directory = directory
        return settings
    }

    /// Removes the whole directory, as a person with a file manager would.
    func remove() throws {
        try FileManager.default.removeItem(atPath: "\(directory.path)/cache")
    }

    /// Returns the path of the worker, which is next to the tests.
    private static func worker() throws -> String {
        let own = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") }.map { URL(fileURLWithPath: $0) } ?? own
        let path = bundle.deletingLastPathComponent().appendingPathComponent("refresh-worker").path
        try #require(FileManager.default.isExecutableFile(atPath: path), "\(path) is not there")
        return path
    }
}

extension SharedCacheSetup {
    init(
        _ store: Store = .file,
        people: [TestIdentityProvider.Person] = [.alice],
        grace: Duration = .zero
    ) async throws {
        try await self.init(Storage(store), people: people, grace: grace)
    }

    init(
        _ storage: Storage,
        group: CacheGroup? = nil,
        people: [TestIdentityProvider.Person] = [.alice],
        grace: Duration = .zero
    ) async throws {
        try await self.init(
            storage.cache,
            workers: storage.command,
            on: storage,
            group: group,
            people: people,
            grace: grace,
            profile: storage.store.profile
        )
    }
}
