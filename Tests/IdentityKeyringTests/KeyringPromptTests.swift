// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTestSupport
import Testing

@testable import IdentityKeyring

@Suite(.enabled(if: keyringSupport != nil, "run Scripts/test-keyring"))
struct KeyringPromptTests {
    @Test(.timeLimit(.minutes(1))) func storesWhereEveryNewItemIsAnsweredWithAPrompt() async throws {
        let session = try KeyringSession(.fake)
        let (cache, key) = (try session.cache(), try randomKey())
        try session.tell("prompts", "yes")
        #expect(try await cache.replace(nil, with: CacheRecord("one"), for: key))
        #expect(try await session.cache().record(for: key) == CacheRecord("one"))
        #expect(try await cache.replace(CacheRecord("one"), with: CacheRecord("two"), for: key))
        #expect(try await session.cache().record(for: key) == CacheRecord("two"))
        #expect(try await cache.replace(CacheRecord("two"), with: nil, for: key))
        #expect(try await cache.record(for: key) == nil)
        #expect(session.log() == "prompt\nprompt\n")
    }

    @Test(.timeLimit(.minutes(1))) func asksThePersonOnlyIfItMay() async throws {
        let session = try KeyringSession(.fake)
        let (cache, key) = (try session.cache(), try randomKey())
        try session.tell("locked", "yes")
        #expect(await failure { try await cache.record(for: key) }.code == .keyringLocked)
        #expect(await failure { try await cache.replace(nil, with: CacheRecord("x"), for: key) }.code == .keyringLocked)
        #expect(session.log().isEmpty)
    }

    /// The check shows the keyring's dialog before the browser is opened, if it may, and stores nothing.
    @Test(.timeLimit(.minutes(1))) func saysBeforehandWhetherItCanBeWritten() async throws {
        let session = try KeyringSession(.fake)
        let group = try CacheGroup("suite")
        try session.tell("locked", "yes")
        let silent = try session.cache()
        #expect(await failure { try await silent.checkWritable(in: group) }.code == .keyringLocked)
        #expect(session.log().isEmpty)
        try session.tell("unlock", "done")
        let cache = try session.cache(prompting: .allowed())
        #expect(await failure { try await cache.checkWritable(in: group) }.code == nil)
        #expect(session.log() == "prompt\n")
        #expect(try await cache.records(of: .account, in: group).isEmpty)
        #expect(await failure { try await silent.checkWritable(in: group) }.code == nil)
    }

    @Test(.timeLimit(.minutes(1))) func asksOnceAndGoesOnWhenThePersonUnlocks() async throws {
        let session = try KeyringSession(.fake)
        let (cache, key) = (try session.cache(prompting: .allowed()), try randomKey())
        #expect(try await cache.replace(nil, with: CacheRecord("x"), for: key))
        try session.tell("locked", "yes")
        try session.tell("unlock", "done")
        await withTaskGroup { group in
            for _ in 0..<8 {
                group.addTask { #expect(await failure { try await cache.record(for: key) }.code == nil) }
            }
        }
        #expect(session.log() == "prompt\n")
        #expect(try await cache.record(for: key) == CacheRecord("x"))
    }

    @Test(.timeLimit(.minutes(1))) func asksNoSecondTimeAfterADismissal() async throws {
        let session = try KeyringSession(.fake)
        let (cache, key) = (try session.cache(prompting: .allowed()) { $0.minimumDialogTime = .zero }, try randomKey())
        try session.tell("locked", "yes")
        try session.tell("unlock", "dismissed")
        for _ in 0..<2 {
            #expect(await failure { try await cache.record(for: key) }.code == .keyringPromptDismissed)
        }
        #expect(session.log() == "prompt\n")
        try session.tell("locked", "no")
        #expect(await failure { try await cache.record(for: key) }.code == nil)
    }

    /// The collection is open, and its items are not.
    @Test(.timeLimit(.minutes(1))) func asksForItemsThatAreLocked() async throws {
        let session = try KeyringSession(.fake)
        let key = try randomKey()
        #expect(try await session.cache().replace(nil, with: CacheRecord("x"), for: key))
        try session.tell("items", "locked")
        try session.tell("unlock", "done")
        let silent = try session.cache()
        let refused = await #expect(throws: AuthenticationError.self) { try await silent.record(for: key) }
        #expect(refused?.code == .keyringLocked)
        #expect(refused?.message.contains("KeePassXC: Settings") == true)
        #expect(await failure { try await silent.replace(nil, with: nil, for: key) }.code == .keyringLocked)
        #expect(await failure { try await silent.records(of: .account, in: key.group) }.code == .keyringLocked)
        #expect(session.log().isEmpty)
        #expect(try await session.cache(prompting: .allowed()).record(for: key) == CacheRecord("x"))
        #expect(session.log() == "prompt\n")
        try session.tell("items", "locked")
        let writer = try session.cache(prompting: .allowed())
        #expect(try await writer.replace(CacheRecord("x"), with: CacheRecord("y"), for: key))
        #expect(session.log() == "prompt\nprompt\n")
        #expect(try await silent.record(for: key) == CacheRecord("y"))
    }

    /// Both obstacles are removed in one call, each with its own dialog.
    @Test(.timeLimit(.minutes(1))) func asksForTheKeyringAndThenForItsItems() async throws {
        let session = try KeyringSession(.fake)
        let key = try randomKey()
        #expect(try await session.cache().replace(nil, with: CacheRecord("x"), for: key))
        try session.tell("locked", "yes")
        try session.tell("items", "locked")
        try session.tell("unlock", "done")
        #expect(try await session.cache(prompting: .allowed()).record(for: key) == CacheRecord("x"))
        #expect(session.log() == "prompt\nprompt\n")
    }

    /// For example the items of an old "login" keyring, while another keyring is the default.
    @Test(.timeLimit(.minutes(1))) func asksForItemsOfALockedCollectionThatIsNotTheDefault() async throws {
        let session = try KeyringSession(.fake)
        let (old, new) = (try randomKey(), try randomKey())
        #expect(try await session.cache().replace(nil, with: CacheRecord("old"), for: old))
        try session.tell("items", "elsewhere")
        try session.tell("unlock", "done")
        let error = await #expect(throws: AuthenticationError.self) { try await session.cache().record(for: old) }
        #expect(error?.code == .keyringLocked && error?.message.contains("\"Old\", which is locked") == true)
        let status = try await session.cache().status()
        #expect(status.collection == "Old" && status.isLocked && !status.hasLockedItems)
        // A listing asks only if the default collection has nothing.
        #expect(await failure { try await session.cache().records(of: .account, in: old.group) }.code == .keyringLocked)
        #expect(try await session.cache().replace(nil, with: CacheRecord("new"), for: new))
        #expect(try await session.cache().records(of: .account, in: old.group) == [new: CacheRecord("new")])
        #expect(session.log().isEmpty)
        #expect(try await session.cache(prompting: .allowed()).record(for: old) == CacheRecord("old"))
        #expect(session.log() == "prompt\n")
    }

    @Test(.timeLimit(.minutes(1))) func saysThatItemsAreLockedInAnOpenKeyring() async throws {
        let session = try KeyringSession(.fake)
        let key = try randomKey()
        #expect(try await session.cache().replace(nil, with: CacheRecord("x"), for: key))
        #expect(try await !session.cache().status().hasLockedItems)
        try session.tell("items", "locked")
        let status = try await session.cache().status()
        #expect(status.hasLockedItems && !status.isLocked)
        let error = await #expect(throws: AuthenticationError.self) { try await session.cache().record(for: key) }
        #expect(error?.code == .keyringLocked && error?.message.contains("KeePassXC: Settings") == true)
        #expect(session.log().isEmpty)
    }

    @Test(.timeLimit(.minutes(1))) func namesTheWindowThatTheDialogBelongsTo() async throws {
        let session = try KeyringSession(.fake)
        try session.tell("locked", "yes")
        try session.tell("unlock", "done")
        let cache = try session.cache(prompting: .allowed(parentWindow: "73400325"))
        #expect(try await cache.record(for: randomKey()) == nil)
        #expect(session.log() == "prompt 73400325\n")
    }

    /// A desktop program's first sign-in in an account that never had a keyring.
    @Test(.timeLimit(.minutes(1))) func makesAKeyringForTheKeyOfEncryptedFiles() async throws {
        let session = try KeyringSession(.fake)
        let key = try randomKey()
        func cache(_ prompting: KeyringPrompting) throws -> DesktopTokenCache {
            DesktopTokenCache(
                keyring: try session.cache(prompting: prompting),
                policy: .standard,
                directory: "\(session.directory)/state",
                prompting: prompting
            )
        }
        try session.tell("collection", "done")
        let code = await failure { try await cache(.never).replace(nil, with: CacheRecord("x"), for: key) }.code
        #expect(code == .keyringNoDefaultCollection)
        #expect(session.log().isEmpty)
        #expect(try await cache(.allowed()).replace(nil, with: CacheRecord("x"), for: key))
        #expect(session.log() == "prompt\n")
        #expect(try await cache(.never).record(for: key) == CacheRecord("x"))
    }

    @Test(.timeLimit(.minutes(1))) func asksForADefaultCollectionWhereThereIsNone() async throws {
        let session = try KeyringSession(.fake)
        let key = try randomKey()
        try session.tell("collection", "dismissed")
        let silent = try session.cache()
        #expect(await failure { try await silent.record(for: key) }.code == .keyringNoDefaultCollection)
        #expect(session.log().isEmpty)
        let hasty = try session.cache(prompting: .allowed()) { $0.minimumDialogTime = .zero }
        #expect(await failure { try await hasty.record(for: key) }.code == .keyringPromptDismissed)
        try session.tell("collection", "done")
        let cache = try session.cache(prompting: .allowed())
        #expect(try await cache.replace(nil, with: CacheRecord("x"), for: key))
        #expect(session.log() == "prompt\nprompt\n")
        #expect(try await silent.record(for: key) == CacheRecord("x"))
    }

    /// This session has no program that shows GNOME Keyring's dialog: the keyring says that the person closed it.
    @Test(.timeLimit(.minutes(1))) func saysThatNoDialogCouldBeShown() async throws {
        let session = try KeyringSession(.locked)
        let (cache, key) = (try session.cache(prompting: .allowed()), try randomKey())
        let error = await #expect(throws: AuthenticationError.self) { try await cache.record(for: key) }
        #expect(error?.code == .keyringLocked)
        #expect(error?.message.contains("no dialog") == true)
    }

    @Test(.timeLimit(.minutes(1))) func asksAgainWhereNoDialogCouldBeShown() async throws {
        let session = try KeyringSession(.fake)
        let key = try randomKey()
        let cache = try session.cache(prompting: .allowed()) { $0.minimumDialogTime = .seconds(50) }
        try session.tell("locked", "yes")
        try session.tell("unlock", "dismissed")
        #expect(await failure { try await cache.record(for: key) }.code == .keyringLocked)
        try session.tell("unlock", "done")
        #expect(await failure { try await cache.record(for: key) }.code == nil)
        #expect(session.log() == "prompt\nprompt\n")
    }

    /// Another program has a dialog open. The deadline and a cancellation end the wait for that dialog. If the dialog
    /// opens the keyring, the cache shows no dialog of its own.
    @Test(.timeLimit(.minutes(1))) func waitsForTheDialogOfAnotherProgram() async throws {
        let session = try KeyringSession(.fake)
        let key = try randomKey()
        try session.tell("locked", "yes")
        let settings = try session.settings()
        let other = try await KeyringFiles(settings).promptLock(within: .zero)
        let hasty = try session.cache(prompting: .allowed(deadline: .milliseconds(400)))
        #expect(await failure { try await hasty.record(for: key) }.code == .keyringTimedOut)
        let cache = try session.cache(prompting: .allowed())
        let cancelled = Task { try await cache.record(for: key) }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        let patient = Task { try await cache.record(for: key) }
        try session.tell("locked", "no")
        other.end()
        #expect(try await patient.value == nil)
        #expect(session.log().isEmpty)
    }

    /// The cache could not ask the person yet, and asks as soon as the other program's dialog is gone. Until then, a
    /// second call does not wait for the dialog again.
    @Test(.timeLimit(.minutes(1))) func asksWhenTheDialogOfAnotherProgramIsGone() async throws {
        let session = try KeyringSession(.fake)
        let key = try randomKey()
        try session.tell("locked", "yes")
        try session.tell("unlock", "done")
        let other = try await KeyringFiles(session.settings()).promptLock(within: .zero)
        let cache = try session.cache(prompting: .allowed(deadline: .seconds(3)))
        for longest in [Duration.seconds(20), .seconds(2)] {
            let hasty = await failure { try await cache.record(for: key) }
            #expect(hasty.code == .keyringTimedOut)
            #expect(hasty.time < longest, "\(hasty.time)")
        }
        other.end()
        #expect(try await cache.record(for: key) == nil)
        #expect(session.log() == "prompt\n")
    }

    /// The keyring ends before it could ask, or with its dialog open.
    @Test(.timeLimit(.minutes(1)), arguments: ["gone", "gone-later"])
    func asksAgainWhenTheKeyringEnded(_ end: String) async throws {
        let session = try KeyringSession(.fake)
        let (cache, key) = (try session.cache(prompting: .allowed()), try randomKey())
        try session.tell("locked", "yes")
        try session.tell("unlock", end)
        let first = await failure { try await cache.record(for: key) }
        #expect(first.code == .cache)
        #expect(first.time < .seconds(10), "\(first.time)")
        try session.restartFake()
        try session.tell("locked", "yes")
        try session.tell("unlock", "done")
        #expect(await failure { try await cache.record(for: key) }.code == nil)
    }

    @Test(.timeLimit(.minutes(1))) func saysThatThePersonRefusedARemoval() async throws {
        let session = try KeyringSession(.fake)
        let (cache, key) = (try session.cache(), try randomKey())
        #expect(try await cache.replace(nil, with: CacheRecord("x"), for: key))
        try session.tell("delete", "dismissed")
        let refused = await failure { try await cache.replace(CacheRecord("x"), with: nil, for: key) }
        #expect(refused.code == .keyringPromptDismissed)
        #expect(try await cache.record(for: key) == CacheRecord("x"))
    }

    @Test(.timeLimit(.minutes(1))) func leavesAnUnansweredDialogOpen() async throws {
        let session = try KeyringSession(.fake)
        let key = try randomKey()
        let cache = try session.cache(prompting: .allowed(deadline: .milliseconds(400)))
        try session.tell("locked", "yes")
        let first = await failure { try await cache.record(for: key) }
        #expect(first.code == .keyringTimedOut)
        #expect(first.time < .seconds(2), "\(first.time)")
        let start = ContinuousClock.now
        let second = await #expect(throws: AuthenticationError.self) { try await cache.record(for: key) }
        #expect(second?.code == .keyringTimedOut)
        #expect(start.duration(to: .now) < .seconds(2))
        // The message neither says that the keyring hangs nor advises clear text.
        #expect(second?.message.hasPrefix("The keyring's dialog was not answered") == true)
        #expect(second?.message.contains("file cache") == false)
        // The dialog stays open for the person, and no program opens another.
        let other = try session.cache(prompting: .allowed(deadline: .milliseconds(400)))
        #expect(await failure { try await other.record(for: key) }.code == .keyringTimedOut)
        #expect(session.log() == "prompt\n")
        try session.tell("locked", "no")
        #expect(await failure { try await other.record(for: key) }.code == nil)
        #expect(session.log() == "prompt\n")
    }

    @Test(.timeLimit(.minutes(1))) func leavesTheDialogOpenAfterACancellation() async throws {
        let session = try KeyringSession(.fake)
        let key = try randomKey()
        let cache = try session.cache(prompting: .allowed())
        try session.tell("locked", "yes")
        let task = Task { try await cache.record(for: key) }
        #expect(try await eventually { session.log() == "prompt\n" })
        let start = ContinuousClock.now
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(start.duration(to: .now) < .seconds(2))
        try session.tell("locked", "no")
        #expect(await failure { try await cache.record(for: key) }.code == nil)
        #expect(!session.log().contains("DISMISS"))
    }

    @Test(.timeLimit(.minutes(1))) func saysThatTheSystemDeniesTheKeyring() async throws {
        let session = try KeyringSession(.fake)
        let (cache, key) = (try session.cache(), try randomKey())
        try session.tell("denies", "yes")
        let error = await #expect(throws: AuthenticationError.self) { try await cache.record(for: key) }
        #expect(error?.code == .keyringAccessDenied)
        #expect(error?.message.contains("--talk-name") == true)
        try session.tell("denies", "no")
        #expect(try await cache.record(for: key) == nil)
    }

    @Test(.timeLimit(.minutes(1))) func namesTheProgramBehindTheKeyring() async throws {
        let session = try KeyringSession(.fake)
        let status = try await session.cache().status()
        #expect(status.collection == "Fake")
        #expect(status.provider?.isEmpty == false)
        #expect(!status.isLocked)
    }
}
