// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityTestSupport
import Testing

@testable import identityctl

@Suite struct ServiceNotificationTests {
    @Test(arguments: ["/notify", "@"]) func tellsTheServiceManager(kind: String) throws {
        let directory = try TemporaryDirectory()
        let manager = try ServiceManager(kind == "@" ? "@\(directory.path)" : directory.path + kind)
        #expect(ServiceNotification.send("READY=1", to: manager.name))
        #expect(manager.message() == "READY=1")
        #expect(manager.message() == nil)
    }

    @Test(arguments: [
        nil, "", "@", "vsock:2:1", "relative", "/no/such/socket", "/" + String(repeating: "a", count: 200),
    ])
    func needsNoServiceManager(name: String?) {
        #expect(!ServiceNotification.send("READY=1", to: name))
    }
}
