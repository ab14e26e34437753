// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import IdentityClient
import IdentityTestSupport
import Testing

/// The directory for files that need not outlast a session.
@Suite struct RuntimeDirectoryTests {
    @Test(arguments: ["mail", "mail_work"])
    func makesTheDirectoryThatASnapMayWriteTo(_ snap: String) throws {
        let root = try TemporaryDirectory()
        let own = "\(root.path)/\(geteuid())"
        try CallFailed.check(unsafe mkdir(own, 0o700), "mkdir")
        #expect(try RuntimeDirectory.path(in: root.path, snap: snap) == "\(own)/snap.\(snap)/swift-identity-client")
        var status = stat()
        try CallFailed.check(unsafe lstat("\(own)/snap.\(snap)", &status), "lstat")
        #expect(status.st_mode & 0o7777 == 0o700)
        // A directory that others can read is not accepted.
        try CallFailed.check(unsafe chmod("\(own)/snap.\(snap)", 0o755), "chmod")
        #expect(try RuntimeDirectory.path(in: root.path, snap: snap) == "\(own)/swift-identity-client")
    }

    @Test(arguments: [nil, "", "../snap.mail", "Mail"])
    func makesNothingForANameThatNoSnapHas(_ snap: String?) throws {
        let root = try TemporaryDirectory()
        let own = "\(root.path)/\(geteuid())"
        try CallFailed.check(unsafe mkdir(own, 0o700), "mkdir")
        #expect(try RuntimeDirectory.path(in: root.path, snap: snap) == "\(own)/swift-identity-client")
        #expect(try FileManager.default.contentsOfDirectory(atPath: own).isEmpty)
    }

    /// A container under a number without a line in the user database, where the home is in variables alone.
    @Test(.enabled(if: geteuid() == 0, "only root can be another user"), .timeLimit(.minutes(1)))
    func isBesideTheTokensOfAUserWithoutALine() async {
        await #expect(processExitsWith: .success) {
            let root = try TemporaryDirectory()
            try CallFailed.check(unsafe chown(root.path, 1_234_567, 0), "chown")
            try CallFailed.check(seteuid(1_234_567), "seteuid")
            unsafe setenv("HOME", root.path, 1)
            unsafe unsetenv("XDG_STATE_HOME")
            let home = "\(root.path)/.local/state/swift-identity-client/run"
            #expect(try RuntimeDirectory.path(in: root.path + "/none", snap: nil) == home)
            unsafe setenv("XDG_STATE_HOME", root.path + "/state", 1)
            #expect(
                try RuntimeDirectory.path(in: root.path + "/none", snap: nil)
                    == "\(root.path)/state/swift-identity-client/run"
            )
            // Bytes that are no UTF-8 would become another path.
            for name in ["HOME", "XDG_STATE_HOME"] {
                unsafe setenv("HOME", root.path, 1)
                unsafe setenv("XDG_STATE_HOME", root.path, 1)
                let bytes = (root.path + "/caf").utf8.map { CChar(bitPattern: $0) } + [CChar(bitPattern: 0xE9), 0]
                unsafe setenv(name, bytes, 1)
                let error = #expect(throws: AuthenticationError.self) {
                    try RuntimeDirectory.path(in: root.path + "/none", snap: nil)
                }
                #expect(error?.message.contains("\(name) is no UTF-8") == true)
            }
            try CallFailed.check(seteuid(0), "seteuid")
        }
    }

    /// A directory that others can write to, where another user could claim the name in advance.
    @Test func makesNothingInADirectoryThatOthersCanWriteTo() throws {
        let root = try TemporaryDirectory()
        let own = "\(root.path)/\(geteuid())"
        try CallFailed.check(unsafe mkdir(own, 0o700), "mkdir")
        try CallFailed.check(unsafe chmod(own, 0o777), "chmod")
        #expect(try !RuntimeDirectory.path(in: root.path, snap: "mail").hasPrefix(own))
        #expect(try FileManager.default.contentsOfDirectory(atPath: own).isEmpty)
    }
}
