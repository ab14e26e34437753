// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import Testing

@testable import identityctl

@Suite struct StoreAdviceTests {
    @Test(arguments: [AuthenticationError.Code.keyringNoService, .keyringNoSessionBus, .keyringLibraryMissing])
    func namesFilesWhereThereIsNoKeyring(code: AuthenticationError.Code) throws {
        let advice = try #require(StoreAdvice.unchosen(code, SharedOptions()))
        #expect(advice.contains("identityctl login --cache file") && advice.contains("in clear text"))
    }

    /// The keyring exists: once it is open, tokens need not be kept in clear text.
    @Test(arguments: [AuthenticationError.Code.keyringLocked, .keyringTimedOut, .keyringPromptDismissed])
    func leadsNobodyAwayFromALockedKeyring(code: AuthenticationError.Code) {
        #expect(StoreAdvice.unchosen(code, SharedOptions()) == nil)
    }
}
