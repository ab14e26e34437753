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

    /// A directory that others can write to, where another user could claim the name in advance.
    @Test func makesNothingInADirectoryThatOthersCanWriteTo() throws {
        let root = try TemporaryDirectory()
        let own = "\(root.path)/\(geteuid())"
        try CallFailed.check(unsafe mkdir(own, 0o700), "mkdir")
        try CallFailed.check(unsafe chmod(own, 0o777), "chmod")
        #expect(try !RuntimeDirectory.path(in: root.path, snap: "mail").hasPrefix(root.path))
        #expect(try FileManager.default.contentsOfDirectory(atPath: own).isEmpty)
    }
}
