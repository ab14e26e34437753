// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import SystemSupport
import Testing

@testable import IdentityClient

@Suite struct FileCacheErrorTests {
    /// Includes quotas, which only some machines can set up.
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

    /// A service may have `/nonexistent` or `/` as its home directory.
    @Test(arguments: [EACCES, EPERM, EROFS]) func namesTheWayOutOfAHomeThatIsNone(_ number: Int32) {
        let error = AuthenticationError(SystemCallError("mkdir", "/nonexistent/.local", number: number))
        #expect(error.message.contains("set XDG_STATE_HOME or name a directory"))
    }

    /// exFAT, CIFS and Windows drives under WSL give every file the same mode and ignore the requested one.
    @Test(
        arguments: [
            (0o777, false, true), (0o755, false, false), (0o700, true, false), (0o600, true, false),
            (0o500, false, false),
        ] as [(mode_t, Bool, Bool)]
    )
    func aFileSystemThatKeepsNoPermissionsIsKnownByWhatItMade(mode: mode_t, isPrivate: Bool, isOpen: Bool) {
        var status = stat()
        status.st_mode = S_IFREG | mode
        #expect(FileStatus(status).isPrivate == isPrivate)
        #expect(FileStatus(status).isOpenToWriters == isOpen)
    }

    @Test func advisesNoChmodWhereNoModeIsKept() {
        let error = AuthenticationError(SystemCallError("chmod", "/mnt/c/tokens", number: EOPNOTSUPP))
        #expect(error.code == .cachePermissions)
        #expect(error.message.contains("keeps no permissions") && error.message.contains("Name another directory"))
        #expect(AuthenticationError(SystemCallError("flock", "/a", number: EOPNOTSUPP)).code == .cache)
    }
}
