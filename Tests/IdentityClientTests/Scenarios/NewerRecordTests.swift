// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Testing

/// A newer version of the library has written the account's record.
@Suite(.timeLimit(.minutes(1)))
struct NewerRecordTests {
    /// Replaces the account's record by a newer one: in this version's format with more members, or in another format.
    private func renew(
        _ application: PublicClientApplication,
        of setup: TestSetup,
        isReadable: Bool
    ) async throws -> (CacheKey, CacheRecord) {
        let (key, record) = try #require(try await setup.storedCredentials(of: application).first)
        let text = String(decoding: record.bytes, as: UTF8.self)
        let newer =
            isReadable ? text.replacing(#""v":1"#, with: #""v":2,"meaning":"other""#) : #"{"v":2,"accounts":[]}"#
        let new = CacheRecord(bytes: Array(newer.utf8))
        #expect(new != record)
        #expect(try await setup.cache.replace(record, with: new, for: key))
        return (key, new)
    }

    /// The person has signed in and can work, and the newer program stays signed in.
    @Test(arguments: [true, false])
    func aSignInDoesNotOverwriteIt(isReadable: Bool) async throws {
        let setup = try TestSetup()
        let (application, first) = try await setup.signedIn()
        let (key, newer) = try await renew(application, of: setup, isReadable: isReadable)
        let again = try await application.acquireTokenInteractively(scopes: ["api.read"])
        guard case .failed(let error) = again.persistence else {
            Issue.record("\(again.persistence)")
            return
        }
        #expect(error.code == .cacheNewerVersion)
        let hit = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(hit.source == .cache && hit.accessToken == again.accessToken)
        setup.clock.advance(by: .seconds(3600))
        let next = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(next.source == .identityProvider)
        try await expectError(.cacheNewerVersion) { try await application.finishPendingWork(within: .seconds(15)) }
        #expect(try await setup.cache.record(for: key) == newer)

        try await application.remove(first.account)
        #expect(try await setup.storedCredentials(of: application).isEmpty)
    }

    @Test func oneThatCannotBeReadIsNoSignOut() async throws {
        let directory = try TemporaryDirectory()
        let setup = try TestSetup(cache: FileTokenCache(directory: directory.path + "/cache"))
        let (application, first) = try await setup.signedIn()
        let (key, newer) = try await renew(application, of: setup, isReadable: false)
        for _ in 0..<2 {
            try await expectError(.cacheNewerVersion) {
                try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
            }
        }
        #expect(try await setup.cache.record(for: key) == newer)
    }
}
