// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IdentityTestSupport
import Testing

@testable import identityctl

/// The facts that the kernel tells of a program that asks.
@Suite struct AgentCallerTests {
    /// An update replaces the file of a program that goes on running.
    @Test(.timeLimit(.minutes(1))) func knowsAForwarderWhoseFileWasReplaced() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.path + "/ssh"
        let program = try Shell.run("readlink -f \"$(command -v cat)\"").dropLast()
        _ = try Shell.run("cp '\(program)' '\(path)'")
        let process = Process()
        process.executableURL = URL(fileURLWithPath: path)
        let input = try PrivatePipe()
        input.stays(with: process)
        process.standardInput = input.reading
        try process.run()
        defer { process.terminate() }
        let before = AgentCaller(process: process.processIdentifier)
        try FileManager.default.removeItem(atPath: path)
        _ = try Shell.run("cp '\(program)' '\(path)'")
        let after = AgentCaller(process: process.processIdentifier)
        #expect(after.program == path && after.isForwarder && after == before)
        // Another process of the new file is another machine's way here.
        #expect(AgentCaller(process: getpid()).remembered != after.remembered)
        #expect(after.remembered.process == process.processIdentifier && after.file.count == 2)
    }

    @Test(
        arguments: [
            ("/usr/bin/ssh", true), ("/usr/sbin/sshd", true), ("/usr/lib/openssh/sshd-session", true),
            ("/usr/bin/dbclient", true),
            ("/usr/bin/ssh-add", false), ("/home/a/ssh/mutt", false), (nil, true),
        ] as [(String?, Bool)]
    )
    func tellsForwarders(program: String?, isForwarder: Bool) {
        let caller = AgentCaller(program: program, file: [1, 2], process: 7, started: "1")
        #expect(caller.isForwarder == isForwarder)
        #expect((caller.remembered.process == 7) == isForwarder && (caller.remembered.started == "1") == isForwarder)
    }

    @Test(arguments: [("/a/ssh (deleted)", "/a/ssh"), ("/a/ssh", "/a/ssh"), ("/a (deleted)/ssh", "/a (deleted)/ssh")])
    func stripsTheMarkOfAReplacedFile(path: String, expected: String) {
        #expect(AgentCaller.withoutMark(path) == expected)
    }
}
