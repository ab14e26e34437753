// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing

@testable import IdentityClient

@Suite struct FileCacheErrorTests {
    /// Quotas among them, which only some machines can be made to have.
    @Test(
        arguments: [
            (ENOSPC, .cacheFull), (EDQUOT, .cacheFull), (EROFS, .cachePermissions), (EACCES, .cachePermissions),
            (EPERM, .cachePermissions), (ELOOP, .cachePermissions), (EIO, .cache),
        ] as [(Int32, AuthenticationError.Code)]
    )
    func saysWhatTheSystemMeans(_ number: Int32, _ code: AuthenticationError.Code) {
        let error = AuthenticationError(SystemCallError("write", "/var/tokens", number: number))
        #expect(error.code == code)
        #expect(error.message.contains("/var/tokens"))
    }
}
