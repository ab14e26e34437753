// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import Synchronization
import Testing

@testable import IdentityKeyring

/// The choice of a store, with a cache in memory as the keyring.
@Suite struct DesktopTokenCacheTests {
    private let keyring = InMemoryTokenCache()
    private let directory = FileManager.default.temporaryDirectory.path + "/identity-desktop-\(UUID().uuidString)"
    private let record = CacheRecord(bytes: Array("secret-canary".utf8))

    private func cache(_ policy: LocationPolicy, keyringIs problem: AuthenticationError.Code? = nil)
        -> DesktopTokenCache
    {
        DesktopTokenCache(policy: policy, directory: directory, keyring: keyring) {
            if let problem { throw AuthenticationError(problem, "The keyring is away.") }
        }
    }

    private func key() throws -> CacheKey {
        CacheKey(group: try CacheGroup("desktop"), kind: .account, name: String(repeating: "a", count: 64))
    }

    /// The contents of all files.
    private func files() -> [String] {
        let names = (try? FileManager.default.subpathsOfDirectory(atPath: directory)) ?? []
        return names.compactMap { FileManager.default.contents(atPath: "\(directory)/\($0)") }
            .map { String(decoding: $0, as: UTF8.self) }
    }

    @Test(
        arguments: [
            (.standard, nil, nil, .encryptedFile),
            (.standard, nil, .keyringNoService, nil),
            (.prefer(.encryptedFile, else: .file), nil, .keyringNoSessionBus, .file),
            (.prefer(.encryptedFile, else: .memory, .file), nil, .keyringLibraryMissing, .memory),
            (.prefer(.keyring, else: .encryptedFile), nil, .keyringNoService, nil),
            (.prefer(.encryptedFile, else: .file), nil, .keyringLocked, nil),
            (.prefer(.encryptedFile, else: .file), nil, .keyringTimedOut, nil),
            (.prefer(.encryptedFile, else: .file), .file, nil, .file),
            (.standard, .file, nil, nil),
            (.standard, .keyring, nil, .keyring),
            (.standard.accepting(.file), .file, nil, .file),
            (.standard.accepting(.file), nil, .keyringNoService, nil),
            (.require(.memory), .file, nil, nil),
            (.prefer(.file, else: .keyring), .keyring, nil, .keyring),
        ] as [(LocationPolicy, TokenLocation?, AuthenticationError.Code?, TokenLocation?)]
    )
    func decidesByThePolicy(
        policy: LocationPolicy,
        remembered: TokenLocation?,
        problem: AuthenticationError.Code?,
        expected: TokenLocation?
    ) {
        let error = problem.map { AuthenticationError($0, "away") }
        let chosen = try? StoreChoice.decide(policy, remembered: remembered, problem: error).store  // Refused: none.
        #expect(chosen == expected)
    }

    /// A person signed in on the desktop, and then runs the program in the same home without a bus.
    @Test(.timeLimit(.minutes(1)), arguments: [true, false])
    func saysWhatHoldsItToAKeyringThatIsAbsent(_ listsAnother: Bool) async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        #expect(try await cache(.standard).replace(nil, with: record, for: key()))
        let absent = AbsentKeyring()
        let policy = listsAnother ? LocationPolicy.prefer(.encryptedFile, else: .file) : .standard
        let later = DesktopTokenCache(policy: policy, directory: directory, keyring: absent) { throw absent.error }
        let account = try key()
        let group = account.group
        let calls: [@Sendable () async throws -> Void] = [
            { _ = try await later.record(for: account) }, { _ = try await later.records(of: .account, in: group) },
            { _ = try await later.replace(nil, with: CacheRecord("x"), for: randomKey(group: group.name)) },
            { try await later.checkWritable(in: group) }, { _ = try await later.openedLocation(for: group) },
        ]
        for call in calls {
            let error = await #expect(throws: AuthenticationError.self) { try await call() }
            #expect(error?.code == .keyringNoSessionBus)
            #expect(error?.message.contains("since an earlier run") == listsAnother)
            #expect(error?.message.contains("move(to:in:)") == listsAnother)
        }
        // Nothing was begun in clear text.
        #expect(!files().contains { $0.contains("secret-canary") })
    }

    @Test(.timeLimit(.minutes(1))) func writesNoClearTextUnlessItIsListed() async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        await #expect(throws: AuthenticationError.self) {
            _ = try await cache(.standard, keyringIs: .keyringNoService).replace(nil, with: record, for: key())
        }
        #expect(files().isEmpty)
        #expect(try await cache(.standard).replace(nil, with: record, for: key()))
        #expect(!files().isEmpty)
        #expect(!files().contains { $0.contains("secret-canary") })
        #expect(try await cache(.standard).record(for: key()) == record)
    }

    @Test(.timeLimit(.minutes(1))) func saysBeforehandWhetherTokensCouldBeKept() async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let group = try CacheGroup("desktop")
        let locked = cache(.standard, keyringIs: .keyringLocked)
        let error = await #expect(throws: AuthenticationError.self) { try await locked.checkWritable(in: group) }
        #expect(error?.code == .keyringLocked)
        let standard = cache(.standard)
        try await standard.checkWritable(in: group)
        // Asking chooses nothing: a machine without a keyring goes by its own policy afterwards.
        #expect(try await standard.rememberedStore(of: group) == nil)
        let other = cache(.prefer(.encryptedFile, else: .file), keyringIs: .keyringNoService)
        try await other.checkWritable(in: group)
        #expect(try await other.replace(nil, with: record, for: key()))
        #expect(try await other.openedLocation(for: group).location == .file)
    }

    @Test(.timeLimit(.minutes(1))) func saysBeforehandThatThereIsNoPlaceForFiles() async throws {
        try Data().write(to: URL(filePath: directory))
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let group = try CacheGroup("desktop")
        for policy in [LocationPolicy.standard, .require(.keyring), .require(.file)] {
            let cache = cache(policy)
            let error = await #expect(throws: AuthenticationError.self, "\(policy)") {
                try await cache.checkWritable(in: group)
            }
            #expect(error?.code == .cachePermissions, "\(policy)")
        }
    }

    @Test(.timeLimit(.minutes(1))) func hintsAtWhatIsWrittenBeforeTheStoreIsOpen() async throws {
        for _ in 0..<100 {
            let cache = cache(.prefer(.encryptedFile, else: .memory), keyringIs: .keyringLibraryMissing)
            let hints = try #require(cache.changes(in: CacheGroup("desktop")))
            #expect(try await cache.replace(nil, with: record, for: key()))
            #expect(try await hints.first { _ in true } == key())
        }
    }

    @Test(.timeLimit(.minutes(1))) func staysWithTheStoreItChose() async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let group = try CacheGroup("desktop")
        let policy = LocationPolicy.prefer(.encryptedFile, else: .file)
        let first = cache(policy, keyringIs: .keyringNoService)
        #expect(try await first.record(for: key()) == nil)
        #expect(files().isEmpty)
        #expect(try await first.replace(nil, with: record, for: key()))
        let reason = try await first.openedLocation(for: group).reason
        if case .fallback(let error) = reason { #expect(error.code == .keyringNoService) } else { Issue.record() }

        let second = cache(policy)
        #expect(try await second.record(for: key()) == record)
        let opened = try await second.openedLocation(for: group)
        #expect(opened.location == .file)
        if case .remembered = opened.reason {} else { Issue.record("\(opened.explanation)") }
        await #expect(throws: AuthenticationError.self) { _ = try await cache(.standard).record(for: key()) }
    }

    /// A program that starts with the session, before KeePassXC does.
    @Test(.timeLimit(.minutes(1))) func movesTheTokensAtTheNextStartWithAKeyring() async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let (group, two) = (try CacheGroup("desktop"), CacheRecord("secret-canary 2"))
        let policy = LocationPolicy.prefer(.encryptedFile, else: .file)
        let first = cache(policy, keyringIs: .keyringNoService)
        #expect(try await first.replace(nil, with: record, for: key()))
        // A keyring that is locked now is asked again the next time.
        let second = cache(policy, keyringIs: .keyringLocked)
        #expect(try await second.replace(record, with: two, for: key()))
        #expect(try await second.rememberedStore(of: group) == .file)
        let third = cache(policy)
        #expect(try await third.record(for: key()) == two)
        #expect(try await third.rememberedStore(of: group) == .file)
        #expect(try await third.replace(two, with: record, for: key()))
        #expect(try await third.rememberedStore(of: group) == .encryptedFile)
        #expect(!files().contains { $0.contains("secret-canary") })
        // Programs that run follow.
        #expect(try await first.record(for: key()) == record)
        #expect(try await second.replace(record, with: two, for: key()))
        #expect(!files().contains { $0.contains("secret-canary") })
    }

    @Test(.timeLimit(.minutes(1))) func asksTheKeyringOnceInAProgram() async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let policy = LocationPolicy.prefer(.encryptedFile, else: .file)
        let first = cache(policy, keyringIs: .keyringNoService)
        #expect(try await first.replace(nil, with: record, for: key()))
        let asked = Mutex(0)
        let second = DesktopTokenCache(policy: policy, directory: directory, keyring: keyring) {
            asked.withLock { $0 += 1 }
            throw AuthenticationError(.keyringTimedOut, "The keyring is away.")
        }
        for (old, new) in [("secret-canary", "a"), ("a", "b"), ("b", "c")] {
            #expect(try await second.replace(CacheRecord(old), with: CacheRecord(new), for: key()))
        }
        #expect(asked.withLock { $0 } == 1)
        #expect(try await first.replace(CacheRecord("c"), with: nil, for: key()))
    }

    @Test(.timeLimit(.minutes(1)), arguments: [true, false])
    func leavesTokensWhereTheProgramWantsThem(isMovedThere: Bool) async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let policy = LocationPolicy.prefer(.encryptedFile, else: .file)
        let first = cache(isMovedThere ? policy : .require(.file), keyringIs: .keyringNoService)
        #expect(try await first.replace(nil, with: record, for: key()))
        if isMovedThere { try await first.move(to: .file, in: CacheGroup("desktop")) }
        let second = cache(policy)
        #expect(try await second.replace(record, with: CacheRecord("new"), for: key()))
        #expect(try await second.rememberedStore(of: CacheGroup("desktop")) == .file)
    }

    @Test(.timeLimit(.minutes(1))) func movesAndFollowsAMove() async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let policy = LocationPolicy.prefer(.file, else: .encryptedFile, .keyring)
        let one = cache(policy)
        let other = cache(policy)
        #expect(try await one.replace(nil, with: record, for: key()))
        #expect(try await other.record(for: key()) == record)
        for store in [TokenLocation.encryptedFile, .keyring, .file] {
            try await one.move(to: store, in: CacheGroup("desktop"))
            #expect(try await one.openedLocation(for: CacheGroup("desktop")).location == store)
            #expect(try await other.record(for: key()) == record)
            #expect(files().contains { $0.contains("secret-canary") } == (store == .file))
        }
        #expect(try await keyring.records(of: .account, in: CacheGroup("desktop")).isEmpty)
    }

    @Test(.timeLimit(.minutes(1))) func makesNoSecondKeyForRecordsOfALostOne() async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        #expect(try await cache(.standard).replace(nil, with: record, for: key()))
        let kind = CacheKey.Kind(rawValue: "key")
        for (item, value) in try await keyring.records(of: kind, in: CacheGroup("desktop")) {
            #expect(try await keyring.replace(value, with: nil, for: item))
        }
        await #expect(throws: AuthenticationError.self) { _ = try await cache(.standard).record(for: key()) }
        #expect(try await keyring.records(of: kind, in: CacheGroup("desktop")).isEmpty)
    }
}

/// A keyring on a machine without a session bus.
private struct AbsentKeyring: TokenCache {
    var error: AuthenticationError { AuthenticationError(.keyringNoSessionBus, "There is no bus.") }

    func record(for key: CacheKey) async throws -> CacheRecord? { throw error }

    func replace(_ expected: CacheRecord?, with new: CacheRecord?, for key: CacheKey) async throws -> Bool {
        throw error
    }

    func records(of kind: CacheKey.Kind, in group: CacheGroup) async throws -> [CacheKey: CacheRecord] { throw error }
}
