// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import DesktopKit
import IdentityClient
import Testing

@Suite struct ProgramOptionsTests {
    @Test func usesTheStandInUnlessTold() throws {
        let options = try ProgramOptions.parse([])
        #expect(try options.registration == nil)
        #expect(options.cache == .desktop)
    }

    @Test func namesARegistration() throws {
        let options = try ProgramOptions.parse([
            "--client-id", "abc", "--authority", "https://login.microsoftonline.com/common",
        ])
        #expect(try options.registration == Registration(clientID: "abc", authority: try .entra(.common)))
    }

    @Test(arguments: [
        ["--client-id", "abc"], ["--authority", "https://login.microsoftonline.com/common"],
        ["--client-id", "abc", "--authority", "http://example.com/common"], ["--cache", "somewhere"],
    ])
    func refuses(_ arguments: [String]) {
        #expect(throws: (any Error).self) { try ProgramOptions.parse(arguments) }
    }

    @Test func choosesTheCache() throws {
        func cache(_ name: String) throws -> any TokenCache {
            try ProgramOptions.parse(["--cache", name]).tokenCache(applicationName: "A", asksToUnlock: false)
        }
        #expect(try cache("memory") is InMemoryTokenCache)
        #expect(try cache("file") is FileTokenCache)
    }
}
