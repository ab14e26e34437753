// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityKeyring
import Testing

@testable import identityctl

@Suite struct StoreAdviceTests {
    private func advice(
        _ code: AuthenticationError.Code,
        _ remembered: TokenStore? = nil,
        isUsed: Bool = true
    ) throws -> String? {
        let options = try SharedOptionsTests.options("token", "--group", "g", "--cache", "auto", "--scope", "s")
        return StoreAdvice.text(for: code, remembered: remembered, isUsed: isUsed, options)
    }

    @Test(arguments: [
        AuthenticationError.Code.keyringNoService, .keyringNoSessionBus, .keyringLibraryMissing,
        .keyringNoDefaultCollection, .keyringAccessDenied,
    ])
    func namesFilesWhereThereIsNoKeyring(code: AuthenticationError.Code) throws {
        let advice = try #require(try advice(code))
        #expect(advice.contains("identityctl login --group g --scope s --cache file"))
        #expect(advice.contains("in clear text") && advice.contains("for this client id or group"))
    }

    /// The keyring exists: once it is open, tokens need not be kept in clear text.
    @Test(arguments: [AuthenticationError.Code.keyringLocked, .keyringTimedOut, .keyringPromptDismissed])
    func advisesNoClearTextForALockedKeyring(code: AuthenticationError.Code) throws {
        #expect(try advice(code) == nil)
        #expect(try advice(code, .encryptedFile)?.contains("clear text") != true)
    }

    @Test(arguments: [AuthenticationError.Code.keyringNoService, .keyringLocked, .cacheKeyUnavailable])
    func namesAWayOutWhereTheTokensNeedTheKeyring(code: AuthenticationError.Code) throws {
        #expect(try advice(code, .encryptedFile)?.hasSuffix("identityctl logout --discard --group g") == true)
        #expect(try advice(code, .keyring)?.hasSuffix("identityctl logout --discard --group g") == true)
        #expect(try advice(code, .file) == nil)
    }

    @Test(arguments: [AuthenticationError.Code.cacheKeyUnavailable, .cacheUndecryptable])
    func namesAWayOutWhereTheKeyFileIsLost(code: AuthenticationError.Code) throws {
        let store = TokenStore.encryptedFile(key: try KeyFile(path: "/k"))
        let advice = try #require(try advice(code, store))
        #expect(advice.contains("'encrypted:key-file=/k'") && !advice.contains("keyring"))
        #expect(advice.hasSuffix("identityctl logout --discard --group g"))
        #expect(try self.advice(.cachePermissions, store) == nil)
    }

    @Test func saysHowToMakeAKey() throws {
        #expect(try advice(.cacheKeyUnavailable)?.contains("identityctl cache create-key PATH") == true)
    }

    @Test func saysHowToUseAnotherStore() throws {
        let file = try #require(try advice(.cache, .file, isUsed: false))
        #expect(file.hasSuffix("identityctl cache move --to STORE --group g"))
        let sealed = try #require(try advice(.cache, .encryptedFile, isUsed: false))
        #expect(sealed.contains("cache move --to STORE") && sealed.contains("logout --discard"))
    }
}
