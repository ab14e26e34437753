// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import Synchronization
import Testing

@testable import IdentityKeyring

/// KeePassXC opens a dialog for a search while all its databases are locked, and answers when it is closed.
@Suite(.enabled(if: keyringSupport != nil, "run Scripts/test-keyring"))
struct KeyringSearchTests {
    @Test(.timeLimit(.minutes(1))) func opensNoDialogOfKeePassXC() async throws {
        let session = try KeyringSession(.keepassxcLocked)
        let (cache, key) = (try session.cache(), try randomKey())
        for _ in 0..<3 {
            let read = await failure { try await cache.record(for: key) }
            #expect(read.code == .keyringLocked)
            #expect(read.time < .seconds(2), "\(read.time)")
        }
        #expect(try await cache.status().isLocked)
    }

    /// Neither a read nor a write searches a locked KeePassXC.
    @Test(.timeLimit(.minutes(1))) func searchesOnlyWhatItSawOpen() async throws {
        let session = try KeyringSession(.fake)
        try session.tell("called", "keepassxc")
        let (writer, key) = (try session.cache(), try randomKey())
        #expect(try await writer.replace(nil, with: CacheRecord("one"), for: key))
        let cache = try session.cache()
        #expect(try await cache.record(for: key) == CacheRecord("one"))
        try session.tell("locked", "yes")
        try session.tell("tells", "yes")
        for cache in [cache, try session.cache()] {
            #expect(await failure { try await cache.record(for: key) }.code == .keyringLocked)
            #expect(await failure { try await cache.records(of: .account, in: key.group) }.code == .keyringLocked)
            let replaced = await failure { try await cache.replace(nil, with: CacheRecord("x"), for: key) }
            #expect(replaced.code == .keyringLocked)
        }
        #expect(!session.log().contains("search"))
    }

    /// The cache searches a keyring that could be KeePassXC in the same way as KeePassXC.
    @Test(.timeLimit(.minutes(1)), arguments: [nil, "keepassxc", "xdg-dbus-proxy", "gnome-keyring-d", "kwalletd5"])
    func takesCareWithKeePassXCOnly(_ name: String?) async throws {
        let session = try KeyringSession(.fake)
        let link = try await session.cache().connector.link()
        link.providerName.withLock { $0 = name }
        #expect(link.mayBeKeePassXC == !(name == "gnome-keyring-d" || name == "kwalletd5"))
    }
}
