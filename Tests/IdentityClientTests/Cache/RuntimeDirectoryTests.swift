// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Testing

@testable import IdentityClient

/// Where what need not outlast a session is kept.
@Suite struct RuntimeDirectoryTests {
    @Test func takesTheDirectoryThatASnapMayWriteTo() throws {
        let root = try TemporaryDirectory()
        let own = "\(root.path)/\(geteuid())"
        try CallFailed.check(unsafe mkdir(own, 0o700), "mkdir")
        #expect(try RuntimeDirectory.path(in: root.path, snap: "mail") == "\(own)/swift-identity-client")
        try CallFailed.check(unsafe mkdir("\(own)/snap.mail", 0o700), "mkdir")
        #expect(try RuntimeDirectory.path(in: root.path, snap: "mail") == "\(own)/snap.mail/swift-identity-client")
        for other in [nil, "", "other", "../snap.mail"] {
            #expect(try RuntimeDirectory.path(in: root.path, snap: other) == "\(own)/swift-identity-client")
        }
        // One that others can read is not believed to be ours.
        try CallFailed.check(unsafe chmod("\(own)/snap.mail", 0o755), "chmod")
        #expect(try RuntimeDirectory.path(in: root.path, snap: "mail") == "\(own)/swift-identity-client")
    }
}
