// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityTestSupport
import IdentityTesting
import Testing

@testable import identityctl

@Suite struct KeyringRequestTests {
    @Test(arguments: [
        (["get", "https://p.test/simple/", "u"], "t\n"), (["get", "https://p.test", "u"], "t\n"),
        (["get", "https://p.test", "--mode", "creds"], "n\nt\n"),
        (["--mode=creds", "get", "https://p.test", "u"], "n\nt\n"),
        (["--mode", "creds", "--output", "json", "get", "https://p.test"], #"{"username":"n","password":"t"}"# + "\n"),
        (["get", "https://p.test", "u", "--output=json"], #"{"password":"t"}"# + "\n"),
    ])
    func answersInTheFormAskedFor(arguments: [String], answer: String) throws {
        let request = try #require(KeyringRequest(arguments))
        #expect(request.answer(username: "n", token: "t") == answer)
        #expect(ServedAddress("https://p.test")?.serves(request.address) == true)
    }

    @Test(arguments: [
        [], ["get"], ["get", "p.test"], ["set", "p.test", "u"], ["del", "p.test", "u"], ["diagnose"], ["--help"],
        ["get", "p.test", "u", "x"], ["-b", "x", "get", "p.test", "u"], ["get", "p.test", "u", "--mode"],
        ["get", "p.test", "u", "--mode", "x"], ["get", "p.test", "u", "--output=x"], ["get", "p.test", "u\nx"],
        ["get", "p.test\u{0}", "u"], ["get", "p.test", String(repeating: "u", count: 4097)],
    ])
    func leavesOtherCallsToTheNextKeyring(arguments: [String]) {
        #expect(KeyringRequest(arguments) == nil)
    }

    @Test(arguments: [
        "https://p.test.evil.test", "https://p.test@evil.test", "http://p.test", "https://p.test\\.evil.test", "system",
        "https://p.test:8443", "p.test", "p.test:443", "//p.test", "https://other@p.test/", "https://u:secret@p.test/",
        "https://u@p.test@evil.test/",
    ])
    func isForNoOtherAddress(service: String) throws {
        let request = try #require(KeyringRequest(["get", service, "u"]))
        #expect(ServedAddress("https://p.test")?.serves(request.address) == false)
    }

    /// PDM leaves the name in the address, and asks first with an empty name.
    @Test func understandsWhatPDMAsks() throws {
        for name in ["oauth2", "ada@example.test"] {
            let host = name.replacing("@", with: "%40")
            let request = try #require(KeyringRequest(["--mode=creds", "get", "https://\(host)@p.test/simple/", name]))
            #expect(request.address == ServedAddress("https://p.test/simple") && request.username == name)
        }
        #expect(KeyringRequest(["--mode=creds", "get", "https://p.test/", ""])?.username == .some(nil))
    }

    @Test func findsTheNextProgramThatIsNotItself() throws {
        let temporary = try TemporaryDirectory()
        let manager = FileManager.default
        for name in ["own", "data", "directory/keyring", "real"] {
            try manager.createDirectory(atPath: "\(temporary.path)/\(name)", withIntermediateDirectories: true)
        }
        try manager.createSymbolicLink(atPath: "\(temporary.path)/own/keyring", withDestinationPath: "/proc/self/exe")
        for (name, mode) in [("data", 0o600), ("real", 0o700)] {
            let path = "\(temporary.path)/\(name)/keyring"
            #expect(manager.createFile(atPath: path, contents: Data(), attributes: [.posixPermissions: mode]))
        }
        let all = ["", ".", "own", "data", "directory", "absent", "real"].map {
            $0.count < 2 ? $0 : "\(temporary.path)/\($0)"
        }
        #expect(NextKeyring.path(in: all.joined(separator: ":")) == "\(temporary.path)/real/keyring")
        #expect(NextKeyring.path(in: all.dropLast().joined(separator: ":")) == nil)
    }
}
