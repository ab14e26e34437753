// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import Testing

@testable import IdentityKeyring

/// The key that is derived from a sandboxed program's own secret.
@Suite(.enabled(if: keyringSupport != nil, "run Scripts/test-keyring"))
struct PortalEncryptionKeyTests {
    /// A bus with a portal that gives `answer`, and a program in its sandbox.
    private func session(_ answer: String) throws -> (KeyringSession, PortalEncryptionKey) {
        let session = try KeyringSession(.noService)
        try session.run(
            "/usr/bin/python3 '\(keyringSupport ?? "")/fake-portal' \(answer) > /dev/null 2>&1 & "
                + "gdbus wait --session --timeout 30 org.freedesktop.portal.Desktop"
        )
        return (session, PortalEncryptionKey(deadline: .seconds(20), settings: try session.settings()))
    }

    @Test(.timeLimit(.minutes(1))) func opensTheFilesOfAnEarlierStart() async throws {
        let (first, provider) = try session("one")
        let (files, key) = (InMemoryTokenCache(), try randomKey())
        #expect(try await EncryptedTokenCache(files, keyFrom: provider).replace(nil, with: CacheRecord("x"), for: key))
        #expect(try await files.record(for: key) != CacheRecord("x"))
        let again = PortalEncryptionKey(deadline: .seconds(20), settings: try first.settings())
        #expect(try await EncryptedTokenCache(files, keyFrom: again).record(for: key) == CacheRecord("x"))
        let (second, other) = try session("two")
        let foreign = EncryptedTokenCache(files, keyFrom: other)
        #expect(await failure { try await foreign.record(for: key) }.code == .cacheUndecryptable)
        withExtendedLifetime((first, second)) {}
    }

    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            ("dismissed", AuthenticationError.Code.keyringPromptDismissed), ("refused", .keyringNoService),
            ("short", .keyringNoService),
        ]
    )
    func saysWhyThereIsNoKey(answer: String, code: AuthenticationError.Code) async throws {
        let (session, provider) = try session(answer)
        #expect(await failure { try await provider.encryptionKey() }.code == code)
        withExtendedLifetime(session) {}
    }

    @Test(.timeLimit(.minutes(1))) func waitsForThePersonUntilTheDeadline() async throws {
        let (session, _) = try session("never")
        let hasty = PortalEncryptionKey(deadline: .milliseconds(400), settings: try session.settings())
        let outcome = await failure { try await hasty.encryptionKey() }
        #expect(outcome.code == .keyringTimedOut && outcome.time < .seconds(10))
    }

    @Test func saysThatThereIsNoBus() async throws {
        let settings = KeyringSettings(address: "unix:path=/nonexistent/bus", directory: "/nonexistent")
        let provider = PortalEncryptionKey(deadline: .seconds(20), settings: settings)
        #expect(await failure { try await provider.encryptionKey() }.code == .keyringNoSessionBus)
    }

    @Test(.timeLimit(.minutes(1))) func saysThatThereIsNoPortal() async throws {
        let session = try KeyringSession(.noService)
        let provider = PortalEncryptionKey(deadline: .seconds(20), settings: try session.settings())
        let error = await #expect(throws: AuthenticationError.self) { try await provider.encryptionKey() }
        #expect(error?.code == .keyringNoService && error?.message.contains("portal") == true)
    }
}
