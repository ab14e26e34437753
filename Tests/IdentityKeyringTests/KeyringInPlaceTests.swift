// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import GLibSupport
import IdentityClient
import IdentityTestSupport
import Synchronization
import Testing

@testable import IdentityKeyring

/// Items that are read at a known path, and written in place.
@Suite(.enabled(if: keyringSupport != nil, "run Scripts/test-keyring"))
struct KeyringInPlaceTests {
    @Test(.timeLimit(.minutes(1))) func readsAKnownItemWithoutASearch() async throws {
        let session = try KeyringSession(.fake)
        try session.tell("tells", "yes")
        func searches() throws -> Int {
            try String(contentsOfFile: "\(session.directory)/fake.log", encoding: .utf8).split(separator: "\n").count
        }
        let (writer, reader, key) = (try session.cache(), try session.cache(), try randomKey())
        #expect(try await writer.replace(nil, with: CacheRecord("one"), for: key))
        #expect(try await reader.record(for: key) == CacheRecord("one"))
        // No signal tells of a change in place.
        try await writer.connector.link().providerName.withLock { $0 = "gnome-keyring-d" }
        #expect(try await writer.replace(CacheRecord("one"), with: CacheRecord("two"), for: key))
        let before = try searches()
        #expect(try await reader.record(for: key) == CacheRecord("two"))
        #expect(try searches() == before)
        // After a removal, the reader searches.
        #expect(try await writer.replace(CacheRecord("two"), with: nil, for: key))
        #expect(try await reader.record(for: key) == nil)
        #expect(try searches() > before)
    }

    /// A keyring gives a free path to the next item.
    @Test(.timeLimit(.minutes(1))) func takesNoOtherItemForTheOneThatWasThere() async throws {
        let session = try KeyringSession(.fake)
        let (cache, other, key) = (try session.cache(), try session.cache(), try randomKey())
        let twin = CacheKey(group: try CacheGroup("others"), kind: key.kind, name: key.name)
        #expect(try await cache.replace(nil, with: CacheRecord("ours"), for: key))
        let place = cache.memory.path(of: key)
        #expect(try await other.replace(CacheRecord("ours"), with: nil, for: key))
        #expect(try await other.replace(nil, with: CacheRecord("theirs"), for: twin))
        #expect(place != nil && other.memory.path(of: twin) == place)
        #expect(try await cache.record(for: key) == nil)
        // Another program stores the record again, at another path.
        #expect(try await other.replace(nil, with: CacheRecord("again"), for: key))
        #expect(try await cache.record(for: key) == CacheRecord("again"))
        #expect(cache.memory.path(of: key) != place)
        #expect(try await other.record(for: twin) == CacheRecord("theirs"))
    }

    @Test(.timeLimit(.minutes(1))) func noticesThatAnItemIsNoLongerOurs() async throws {
        let session = try KeyringSession(.unlocked)
        let (cache, key) = (try session.cache(), try randomKey())
        #expect(try await cache.replace(nil, with: CacheRecord("one"), for: key))
        #expect(cache.memory.path(of: key) != nil)
        try session.run(
            """
            /usr/bin/python3 -c 'import secretstorage
            for i in secretstorage.search_items(secretstorage.dbus_init(), {"name": "\(key.name)"}):
                i.set_attributes({"of": "another"})'
            """
        )
        #expect(try await eventually { try await cache.record(for: key) == nil })
    }

    @Test(.timeLimit(.minutes(1)), arguments: [KeyringSession.Mode.unlocked, .keepassxc])
    func tellsOfWhatIsWrittenInPlace(_ mode: KeyringSession.Mode) async throws {
        let session = try KeyringSession(mode)
        #expect(try await eventually { (try? await session.cache().status())?.isLocked == false })
        let (cache, other, key) = (try session.cache(), try session.cache(), try randomKey())
        #expect(try await cache.replace(nil, with: CacheRecord("one"), for: key))
        let place = cache.memory.path(of: key)
        var hints = try #require(cache.changes(in: key.group)).makeAsyncIterator()
        let large = CacheRecord(bytes: [UInt8](repeating: 0, count: 1 << 20))
        #expect(try await other.replace(CacheRecord("one"), with: large, for: key))
        #expect(await hints.next() == key)
        #expect(try await cache.record(for: key) == large)
        #expect(place != nil && cache.memory.path(of: key) == place)
    }

    @Test(.timeLimit(.minutes(1)), arguments: [KeyringSession.Mode.unlocked, .keepassxc])
    func knowsAnItemThatWasRemoved(_ mode: KeyringSession.Mode) async throws {
        let session = try KeyringSession(mode)
        #expect(try await eventually { (try? await session.cache().status())?.isLocked == false })
        let (cache, key) = (try session.cache(), try randomKey())
        #expect(try await cache.replace(nil, with: CacheRecord("one"), for: key))
        let link = try await cache.connector.link()
        let place = try #require(cache.memory.path(of: key))
        try await link.delete(place, within: .seconds(5))
        let failure = await #expect(throws: GLibFailure.self) {
            try await link.set([1], of: place, within: .seconds(5))
        }
        #expect(try KeyringProblem(#require(failure)) == .noSuchObject)
        #expect(failure?.operation == "Item.SetSecret" && failure?.provider == link.providerName.withLock { $0 })
        #expect(try await link.item(at: place, within: .seconds(5)) == nil)
    }

    @Test(.timeLimit(.minutes(1))) func asksForTheProviderAgainAfterACancellation() async throws {
        let session = try KeyringSession(.unlocked)
        let link = try await session.cache().connector.link()
        link.providerName.withLock { $0 = nil }
        let cancelled = Task {
            unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
            return await link.replacesInPlace(within: .seconds(5))
        }
        #expect(await !cancelled.value)
        #expect(await link.replacesInPlace(within: .seconds(5)))
    }

    /// Another program signs out after the old record was read, and before the new record is written.
    @Test(.timeLimit(.minutes(1))) func restoresNoItemThatWasRemovedMeanwhile() async throws {
        let session = try KeyringSession(.fake)
        let (cache, key) = (try session.cache(), try randomKey())
        #expect(try await cache.replace(nil, with: CacheRecord("one"), for: key))
        try await cache.connector.link().providerName.withLock { $0 = "gnome-keyring-d" }
        try session.tell("loses", "yes")
        #expect(try await !cache.replace(CacheRecord("one"), with: CacheRecord("two"), for: key))
        try session.tell("loses", "no")
        #expect(try await cache.record(for: key) == nil)
    }

    /// KWallet and pass refuse the secrets of all items if one of the items is gone.
    @Test(.timeLimit(.minutes(1)), arguments: ["DBus.Error.InvalidArgs", "Secret.Error.NoSuchObject"])
    func readsTheOthersWhereOneIsRemovedMeanwhile(_ error: String) async throws {
        let session = try KeyringSession(.fake)
        let (writer, keys) = (try session.cache(), [try randomKey(), try randomKey()])
        for key in keys { #expect(try await writer.replace(nil, with: CacheRecord("kept"), for: key)) }
        let cache = try session.cache()
        try session.tell("vanishes", "org.freedesktop.\(error)")
        #expect(try await cache.records(of: .account, in: keys[0].group) == [keys[1]: CacheRecord("kept")])
        let gone = KeyringLink.root + "/collection/fake/i99"
        #expect(try await cache.connector.link().item(at: gone, within: .seconds(5)) == nil)
    }
}
