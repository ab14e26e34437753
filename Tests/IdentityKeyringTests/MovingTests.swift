// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import IdentityTesting
import Synchronization
import SystemSupport
import Testing

@testable import IdentityClient
@testable import IdentityKeyring

/// Moves from store to store, with a directory of files as the keyring, so that processes share it.
@Suite struct MovingTests {
    private let directory = FileManager.default.temporaryDirectory.path + "/identity-moving-\(UUID().uuidString)"
    private static let policy = LocationPolicy.prefer(.file, else: .encryptedFile, .keyring)

    private static func cache(
        in directory: String,
        keyring: (any TokenCache)? = nil,
        lockTimeout: Duration = .seconds(5),
        _ policy: LocationPolicy = Self.policy
    ) -> DesktopTokenCache {
        let keyring = keyring ?? FileTokenCache(directory: directory + "/keyring")
        let state = directory + "/state"
        return DesktopTokenCache(policy: policy, directory: state, keyring: keyring, lockTimeout: lockTimeout) {}
    }

    private var keyring: FileTokenCache { FileTokenCache(directory: directory + "/keyring") }
    private var group: CacheGroup { get throws { try CacheGroup("suite") } }

    /// The key belongs to the group, and the files belong to a directory.
    @Test(.timeLimit(.minutes(1))) func leavesOtherDirectoriesTheirKey() async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let (policy, key) = (LocationPolicy.standard.accepting(.file), try randomKey())
        let cache = Self.cache(in: directory, policy)
        func elsewhere() -> DesktopTokenCache { Self.cache(in: "\(directory)/elsewhere", keyring: keyring, policy) }
        #expect(try await cache.replace(nil, with: CacheRecord("x"), for: key))
        #expect(try await elsewhere().replace(nil, with: CacheRecord("y"), for: key))
        try await cache.move(to: .file, in: key.group)
        #expect(try await elsewhere().record(for: key) == CacheRecord("y"))
        try await cache.move(to: .encryptedFile, in: key.group)
        try await cache.move(to: .keyring, in: key.group)
        #expect(try await elsewhere().record(for: key) == CacheRecord("y"))
    }

    @Test(.timeLimit(.minutes(1))) func movesWhatRestsInTheKeyringWithoutAMarker() async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let (cache, key) = (Self.cache(in: directory, .standard.accepting(.file)), try randomKey())
        #expect(try await keyring.replace(nil, with: CacheRecord("x"), for: key))
        try await cache.move(to: .file, in: key.group)
        #expect(try await FileTokenCache(directory: directory + "/state").record(for: key) == CacheRecord("x"))
        #expect(try await keyring.record(for: key) == nil)
    }

    /// A process is killed while a move copies records in clear text, or while it removes the originals.
    @Test(.timeLimit(.minutes(1)), arguments: MoveStep.allCases)
    func removesWithTheNextWriteWhatAnInterruptedMoveLeft(_ step: MoveStep) async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let (path, key) = (directory, try randomKey())
        let policy = LocationPolicy.prefer(.keyring, else: .file)
        let first = Self.cache(in: path, policy)
        #expect(try await first.replace(nil, with: CacheRecord("x"), for: key))
        await #expect(processExitsWith: .signal(SIGKILL)) {
            [path = path as String, step = step.rawValue as String] in
            let keyring = KillingCache(FileTokenCache(directory: path + "/keyring"), at: MoveStep(rawValue: step))
            let cache = MovingTests.cache(in: path, keyring: keyring, .prefer(.keyring, else: .file))
            try await cache.move(to: .file, in: CacheGroup("suite"))
        }
        let plain = FileTokenCache(directory: path + "/state")
        #expect(try await plain.record(for: key) == CacheRecord("x"))
        #expect(try await keyring.record(for: key) == CacheRecord("x"))
        // Another copy was just being written.
        if step == .copying { try leaveUnfinishedFiles() }
        let next = Self.cache(in: path, policy)
        #expect(try await next.record(for: key) == CacheRecord("x"))
        #expect(try await next.replace(CacheRecord("x"), with: CacheRecord("y"), for: key))
        #expect(try await plain.record(for: key) == (step == .copying ? nil : CacheRecord("y")))
        #expect(try await keyring.record(for: key) == (step == .copying ? CacheRecord("y") : nil))
        #expect(try await StoreMarker(plain).mark(of: key.group)?.copies == nil)
        #expect(try unfinishedFiles().isEmpty)
    }

    /// Clear text that a killed writer left is not forgotten in the old store.
    @Test(.timeLimit(.minutes(1)), arguments: [false, true])
    func takesAlongWhatKilledWritersLeft(_ isDiscarded: Bool) async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let (cache, key) = (Self.cache(in: directory), try randomKey())
        #expect(try await cache.replace(nil, with: CacheRecord("x"), for: key))
        try leaveUnfinishedFiles()
        if isDiscarded {
            _ = try await cache.discard(key.group)
        } else {
            try await cache.move(to: .encryptedFile, in: key.group)
            #expect(try await cache.record(for: key) == CacheRecord("x"))
        }
        #expect(try unfinishedFiles().isEmpty)
    }

    /// Leaves the files of writers that were killed this moment, one for each lock.
    private func leaveUnfinishedFiles() throws {
        for stripe in 0..<FileCacheName.stripes {
            let path = "\(directory)/state/suite/\(FileCacheName.temporary(stripe))"
            try #require(FileManager.default.createFile(atPath: path, contents: Data("secret".utf8)))
        }
        try #require(unfinishedFiles().count == FileCacheName.stripes)
    }

    private func unfinishedFiles() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory + "/state/suite").filter { $0.hasPrefix(".new-") }
    }

    /// Over SSH there is no keyring. Then a move takes the tokens in files.
    @Test(.timeLimit(.minutes(1)), arguments: [AuthenticationError.Code.keyringNoService, .keyringLocked])
    func choosesAStoreWithoutTheKeyringOnlyWhereThereIsNone(problem: AuthenticationError.Code) async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let cache = DesktopTokenCache(policy: .standard.accepting(.file), directory: directory, keyring: keyring) {
            throw AuthenticationError(problem, "The keyring is away.")
        }
        let result = await failure { try await cache.move(to: .file, in: group) }
        #expect(result.code == (problem == .keyringLocked ? .keyringLocked : nil))
        #expect(try await cache.rememberedStore(of: group) == (problem == .keyringLocked ? nil : .file))
    }

    @Test(.timeLimit(.minutes(1))) func followsTokensThatCameBackWithAnotherKey() async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let (cache, key) = (Self.cache(in: directory, .standard.accepting(.file)), try randomKey())
        #expect(try await cache.replace(nil, with: CacheRecord("x"), for: key))
        // A program that has read the old key continues with the new key.
        let other = Self.cache(in: directory, .standard.accepting(.file))
        #expect(try await other.record(for: key) == CacheRecord("x"))
        try await cache.move(to: .file, in: key.group)
        let item = KeyringEncryptionKey.item(of: key.group)
        let old = try #require(try await keyring.record(for: item))
        #expect(try await keyring.replace(old, with: nil, for: item))
        try await cache.move(to: .encryptedFile, in: key.group)
        #expect(try await keyring.record(for: item) != old)
        #expect(try await other.record(for: key) == CacheRecord("x"))
        #expect(try await other.replace(nil, with: CacheRecord("y"), for: try randomKey()))
        let reader = Self.cache(in: directory, .standard.accepting(.file))
        #expect(try await reader.records(of: .account, in: key.group).count == 2)
    }

    @Test(.timeLimit(.minutes(1))) func leavesNothingBehindWhereAMoveFailedHalfWay() async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let failing = FailingCache(keyring)
        let cache = Self.cache(in: directory, keyring: failing)
        for _ in 0..<3 { #expect(try await cache.replace(nil, with: CacheRecord("x"), for: randomKey())) }
        failing.left.withLock { $0 = 2 }
        await #expect(throws: AuthenticationError.self) { try await cache.move(to: .keyring, in: group) }
        #expect(try await keyring.records(of: .account, in: group).count == 2)
        #expect(try await cache.openedLocation(for: group).location == .file)
        failing.left.withLock { $0 = 1000 }
        try await cache.move(to: .encryptedFile, in: group)
        #expect(try await keyring.records(of: .account, in: group).isEmpty)
        #expect(try await cache.records(of: .account, in: group).count == 3)
    }

    @Test(.timeLimit(.minutes(1))) func keepsAccountsSignedOutAfterAFailedMove() async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let failing = FailingCache(keyring)
        let (cache, key) = (Self.cache(in: directory, keyring: failing), try randomKey())
        #expect(try await cache.replace(nil, with: CacheRecord("x"), for: key))
        #expect(try await cache.replace(nil, with: CacheRecord("y"), for: randomKey()))
        failing.left.withLock { $0 = 1 }
        await #expect(throws: AuthenticationError.self) { try await cache.move(to: .keyring, in: group) }
        for (key, record) in try await cache.records(of: .account, in: group) {
            #expect(try await cache.replace(record, with: nil, for: key))
        }
        failing.left.withLock { $0 = 1000 }
        try await cache.move(to: .keyring, in: group)
        #expect(try await cache.records(of: .account, in: group).isEmpty)
    }

    /// The holder of a lease has sent the refresh token. In the new store, no process would find the lease.
    @Test(.timeLimit(.minutes(1))) func waitsForARefreshThatIsUnderWay() async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let watched = WatchedCache(keyring)
        let (cache, key) = (Self.cache(in: directory, keyring: watched), try randomKey())
        try await cache.move(to: .keyring, in: group)
        #expect(try await cache.replace(nil, with: CacheRecord("x"), for: key))
        let leaseKey = CacheKey(group: try group, kind: .lease, name: key.name)
        let lease = Self.lease("n", milliseconds: 100_000)
        #expect(try await cache.replace(nil, with: lease, for: leaseKey))
        let move = Task { try await cache.move(to: .file, in: group) }
        await watched.waitForSweeps(of: .lease, count: 3)
        #expect(try await Self.cache(in: directory).openedLocation(for: group).location == .keyring)
        // The holder can still store the new token and release the lease.
        #expect(try await cache.replace(CacheRecord("x"), with: CacheRecord("y"), for: key))
        #expect(try await cache.replace(lease, with: nil, for: leaseKey))
        try await move.value
        #expect(try await FileTokenCache(directory: directory + "/state").record(for: key) == CacheRecord("y"))
    }

    /// The renewed lease binds for its own time, although the move has waited longer for the first lease. The tokens have no
    /// marker.
    @Test(.timeLimit(.minutes(1))) func measuresEachLeaseByItself() async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let watched = WatchedCache(keyring)
        let (cache, key) = (Self.cache(in: directory, keyring: watched, .standard.accepting(.file)), try randomKey())
        #expect(try await keyring.replace(nil, with: CacheRecord("x"), for: key))
        let leaseKey = CacheKey(group: try group, kind: .lease, name: key.name)
        let (first, renewed) = (Self.lease("1", milliseconds: 100_000), Self.lease("2", milliseconds: 200))
        #expect(try await keyring.replace(nil, with: first, for: leaseKey))
        let move = Task { try await cache.move(to: .file, in: group) }
        // The move pauses for 20 ms before each further sweep: together longer than the renewed lease binds.
        await watched.waitForSweeps(of: .lease, count: 12)
        let begin = ContinuousClock.now
        #expect(try await keyring.replace(first, with: renewed, for: leaseKey))
        try await move.value
        #expect(ContinuousClock.now - begin > .milliseconds(190))
        #expect(try await FileTokenCache(directory: directory + "/state").record(for: key) == CacheRecord("x"))
    }

    private static func lease(_ nonce: String, milliseconds: Int64) -> CacheRecord {
        let elsewhere = ProcessIdentity(bootID: "other", pidNamespace: "other", pid: 1, startTime: "1")
        return RefreshLease(nonce: nonce, duration: milliseconds, holder: elsewhere, deadline: .max).encoded()
    }

    /// No process takes a lease in the old store while tokens are moved.
    @Test(.timeLimit(.minutes(1))) func givesLeasesInTheNewStoreOnly() async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let watched = WatchedCache(keyring)
        let (cache, key) = (Self.cache(in: directory, keyring: watched), try randomKey())
        #expect(try await cache.replace(nil, with: CacheRecord("x"), for: key))
        let leaseKey = CacheKey(group: try group, kind: .lease, name: key.name)
        let (lease, files) = (CacheRecord("mine"), FileTokenCache(directory: directory + "/state"))
        let (other, refusal) = (Self.cache(in: directory, lockTimeout: .zero), Promise<AuthenticationError.Code?>())
        watched.whenWritten {
            refusal.finish(.success(await failure { try await other.replace(nil, with: lease, for: leaseKey) }.code))
        }
        try await cache.move(to: .keyring, in: group)
        #expect(try await refusal.value() == .cacheBusy)
        #expect(try await files.record(for: leaseKey) == nil)
        #expect(try await other.replace(nil, with: lease, for: leaseKey))
        #expect(try await keyring.record(for: leaseKey) == lease)
    }

    /// The answer to a refresh has its room in the store that holds the tokens, and is not asked for while they are moved.
    @Test(.timeLimit(.minutes(1))) func reservesAWriteInTheStoreInUse() async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let watched = WatchedCache(keyring)
        let (cache, key) = (Self.cache(in: directory, keyring: watched), try randomKey())
        func reservedFiles() throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: "\(directory)/state/\(key.group.name)")
                .filter { $0.hasPrefix(".new-") }
        }
        #expect(try await cache.replace(nil, with: CacheRecord("x"), for: key))
        let reservation = try #require(try await cache.reserve(20_000, for: key))
        #expect(try reservedFiles().count == 1)
        #expect(try await cache.replace(CacheRecord("x"), with: CacheRecord("y"), for: key))
        #expect(try reservedFiles().isEmpty)
        await reservation.release()
        let (other, refusal) = (Self.cache(in: directory, lockTimeout: .zero), Promise<AuthenticationError.Code?>())
        watched.whenWritten {
            refusal.finish(.success(await failure { try await other.reserve(20_000, for: key) }.code))
        }
        try await cache.move(to: .keyring, in: key.group)
        #expect(try await refusal.value() == .cacheBusy)
    }

    /// A listener to the old store gets no more hints, and its stream ends.
    @Test(.timeLimit(.minutes(1)), arguments: [true, false])
    func endsTheHintsOfTheStoreThatIsLeft(isElsewhere: Bool) async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let (cache, key) = (Self.cache(in: directory), try randomKey())
        let early = try #require(cache.changes(in: key.group))
        #expect(try await cache.replace(nil, with: CacheRecord("x"), for: key))
        let late = try #require(cache.changes(in: key.group))
        let mover = isElsewhere ? Self.cache(in: directory) : cache
        try await mover.move(to: .keyring, in: key.group)
        // This object knows of the move, or learns of it with this read.
        #expect(try await cache.record(for: key) == CacheRecord("x"))
        for await _ in early {}
        for await _ in late {}
        let hints = try #require(cache.changes(in: key.group))
        #expect(try await cache.replace(CacheRecord("x"), with: CacheRecord("y"), for: key))
        #expect(await hints.first { _ in true } == key)
    }

    @Test(.timeLimit(.minutes(1))) func tellsOfASignOutAfterAMove() async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let (cache, receiver) = (Self.cache(in: directory), InMemoryRedirectReceiver())
        let provider = try TestIdentityProvider()
        var configuration = ClientConfiguration(
            clientID: "test-client",
            authority: provider.authority,
            cache: cache
        )
        configuration.cacheGroup = try group
        configuration.transport = provider.transport
        configuration.browser = ScriptedBrowser(provider: provider, receiver: receiver)
        configuration.redirectReceiver = receiver
        let application = try PublicClientApplication(configuration)
        let account = try await application.acquireTokenInteractively(scopes: ["api.read"]).account
        // Without a hint, the change would be found after an hour.
        let pace = CachePace(polling: .milliseconds(10), sweeping: .seconds(3600))
        let changes = try await application.accountChanges(pace: pace)
        let told = Task { await changes.first { _ in true } }
        try await cache.move(to: .keyring, in: group)
        try await application.remove(account)
        #expect(await told.value == .removed(account))
    }

    /// The marker contains the greatest number.
    @Test(.timeLimit(.minutes(1))) func movesWhereTheMarkerIsDamaged() async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let (cache, key) = (Self.cache(in: directory), try randomKey())
        #expect(try await cache.replace(nil, with: CacheRecord("x"), for: key))
        let (files, marker) = (FileTokenCache(directory: directory + "/state"), StoreMarker.key(key.group))
        let damaged = CacheRecord(#"{"v":1,"store":"file","moves":\#(Int.max)}"#)
        #expect(try await files.replace(files.record(for: marker), with: damaged, for: marker))
        for store in [TokenLocation.keyring, .file] {
            try await cache.move(to: store, in: key.group)
            #expect(try await Self.cache(in: directory).openedLocation(for: key.group).location == store)
            #expect(try await cache.record(for: key) == CacheRecord("x"))
        }
    }

    @Test(.timeLimit(.minutes(1))) func remembersAStoreThatWasChosenBeforeAnythingWasWritten() async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try await Self.cache(in: directory).move(to: .keyring, in: group)
        let (cache, key) = (Self.cache(in: directory), try randomKey())
        #expect(try await cache.replace(nil, with: CacheRecord("x"), for: key))
        #expect(try await keyring.record(for: key) == CacheRecord("x"))
    }

    /// Two processes move the tokens, and two count: no count is lost, and the tokens end in one store only.
    @Test(.timeLimit(.minutes(2))) func losesNothingWhileProcessesMoveAndWrite() async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let (path, key) = (directory, try randomKey())
        #expect(try await Self.cache(in: path).replace(nil, with: CacheRecord("0"), for: key))
        await withTaskGroup { group in
            for number in 0..<4 {
                group.addTask {
                    await #expect(processExitsWith: .success) {
                        [path = path as String, name = key.name as String, number = number as Int] in
                        let cache = MovingTests.cache(in: path)
                        let key = CacheKey(group: try CacheGroup("suite"), kind: .account, name: name)
                        let stores = [TokenLocation.encryptedFile, .keyring, .file]
                        for round in 0..<25 {
                            if number > 1 {
                                try await patiently { try await increment(key, in: cache) }
                            } else {
                                try await patiently {
                                    try await cache.move(to: stores[(round + number) % 3], in: key.group)
                                }
                            }
                        }
                    }
                }
            }
        }
        #expect(try await Self.cache(in: path).record(for: key) == CacheRecord("50"))
        let places: [any TokenCache] = [
            keyring, FileTokenCache(directory: path + "/state"), FileTokenCache(directory: path + "/state/.encrypted"),
        ]
        var found = 0
        for place in places where try await place.record(for: key) != nil { found += 1 }
        #expect(found == 1)
    }

    /// Eight processes write first, with policies that prefer different stores: all end in the same one.
    @Test(.timeLimit(.minutes(2))) func agreesOnOneStoreWhereManyWriteFirst() async throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let path = directory
        await withTaskGroup { group in
            for number in 0..<8 {
                group.addTask {
                    await #expect(processExitsWith: .success) { [path = path as String, number = number as Int] in
                        let policy =
                            number % 2 == 0
                            ? LocationPolicy.prefer(.file, else: .keyring) : .prefer(.keyring, else: .file)
                        let cache = MovingTests.cache(in: path, policy)
                        try #require(try await cache.replace(nil, with: CacheRecord("x"), for: randomKey()))
                    }
                }
            }
        }
        #expect(try await Self.cache(in: path).records(of: .account, in: group).count == 8)
    }
}

/// A step of a move at which a process is killed.
enum MoveStep: String, CaseIterable {
    /// The sign-ins are copied, other records are not.
    case copying
    /// The new store is in use, and the originals are still there.
    case removing
}

/// A cache that kills its process at a step of a move out of it.
private final class KillingCache: TokenCache {
    private let base: any TokenCache
    private let step: MoveStep?

    init(_ base: any TokenCache, at step: MoveStep?) {
        self.base = base
        self.step = step
    }

    func record(for key: CacheKey) async throws -> CacheRecord? { try await base.record(for: key) }

    func replace(_ expected: CacheRecord?, with new: CacheRecord?, for key: CacheKey) async throws -> Bool {
        if step == .removing { kill(getpid(), SIGKILL) }
        return try await base.replace(expected, with: new, for: key)
    }

    func records(of kind: CacheKey.Kind, in group: CacheGroup) async throws -> [CacheKey: CacheRecord] {
        if step == .copying, kind == .application { kill(getpid(), SIGKILL) }
        return try await base.records(of: kind, in: group)
    }
}

/// A cache that fails after a number of writes.
private final class FailingCache: TokenCache {
    let left = Mutex(1000)
    private let base: any TokenCache

    init(_ base: any TokenCache) { self.base = base }

    func record(for key: CacheKey) async throws -> CacheRecord? { try await base.record(for: key) }

    func replace(_ expected: CacheRecord?, with new: CacheRecord?, for key: CacheKey) async throws -> Bool {
        let isFine = left.withLock { left in
            left -= 1
            return left >= 0
        }
        guard isFine else { throw AuthenticationError(.keyringTimedOut, "The keyring does not answer.") }
        return try await base.replace(expected, with: new, for: key)
    }

    func records(of kind: CacheKey.Kind, in group: CacheGroup) async throws -> [CacheKey: CacheRecord] {
        try await base.records(of: kind, in: group)
    }
}

/// A cache that reports its listings, and runs a closure before its first write.
private final class WatchedCache: TokenCache {
    private let base: any TokenCache
    private let hook = Mutex<(@Sendable () async throws -> Void)?>(nil)
    private let sweeps: AsyncStream<CacheKey.Kind>
    private let continuation: AsyncStream<CacheKey.Kind>.Continuation

    init(_ base: any TokenCache) {
        self.base = base
        (sweeps, continuation) = AsyncStream.makeStream()
    }

    func whenWritten(_ work: @escaping @Sendable () async throws -> Void) { hook.withLock { $0 = work } }

    func waitForSweeps(of kind: CacheKey.Kind, count: Int) async {
        var left = count
        for await swept in sweeps where swept == kind {
            left -= 1
            if left == 0 { return }
        }
    }

    func record(for key: CacheKey) async throws -> CacheRecord? { try await base.record(for: key) }

    func replace(_ expected: CacheRecord?, with new: CacheRecord?, for key: CacheKey) async throws -> Bool {
        let work = hook.withLock { hook in
            defer { hook = nil }
            return hook
        }
        try await work?()
        return try await base.replace(expected, with: new, for: key)
    }

    func records(of kind: CacheKey.Kind, in group: CacheGroup) async throws -> [CacheKey: CacheRecord] {
        continuation.yield(kind)
        return try await base.records(of: kind, in: group)
    }
}

/// Repeats `work` while another process moves the tokens.
func patiently(_ work: () async throws -> Void) async throws {
    while true {
        do {
            return try await work()
        } catch let error as AuthenticationError where error.code == .cacheBusy {
            await Task.yield()
        }
    }
}
