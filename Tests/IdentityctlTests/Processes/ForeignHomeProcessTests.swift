// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import IdentityTestSupport
import Testing

@testable import identityctl

/// A home that is another user's, or whose name is no UTF-8.
@Suite(.timeLimit(.minutes(1)))
struct ForeignHomeProcessTests {
    private static let profile = [
        "profile", "add", "work", "--issuer", "https://id.example.test", "--client-id", "cli",
    ]
    private let directory: TemporaryDirectory
    private var home: String { directory.path + "/home" }

    init() throws { directory = try TemporaryDirectory() }

    /// `sudo` that keeps HOME: the person could not write there any more.
    @Test(
        .enabled(if: geteuid() == 0, "only root can be under sudo"),
        arguments: [profile, ["register-scheme", "com.example.app"], ["token", "--record", "HOME/report"]]
    )
    func leavesNothingOfRootsUnderSudo(_ arguments: [String]) async throws {
        try CallFailed.check(unsafe mkdir(home, 0o755), "mkdir")
        try CallFailed.check(unsafe chown(home, 1234, 1234), "chown")
        let arguments = arguments.map { $0.replacing("HOME", with: home) }
        let outcome = try await Tool.run(arguments, ["HOME": home, "SUDO_UID": "1234"])
        #expect(outcome.status != 0)
        #expect(try directory.names(in: "home").isEmpty)
        guard arguments.first == "profile" else { return }
        #expect(outcome.errors.contains("\(home) belongs to user 1234"), "\(outcome.errors)")
        // Without sudo, and for root itself, nothing changes.
        #expect(try await Tool.run(arguments, ["HOME": home, "SUDO_UID": "0"]).status == 0)
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give a directory away"))
    func namesTheOwnerOfWhatIsInTheWay() throws {
        let config = directory.path + "/identityctl"
        try CallFailed.check(unsafe mkdir(config, 0o700), "mkdir")
        try CallFailed.check(unsafe chown(config, 1234, 1234), "chown")
        errno = EACCES
        let failure = PlainFile.unreadable(config + "/profiles/work.conf")
        #expect(failure.description.contains("because \(config) belongs to user 1234"))
        #expect(failure.description.hasSuffix("run: sudo chown -hR \(geteuid()) \(config)"))
        errno = EISDIR
        #expect(PlainFile.unreadable(config).description == "\(config) cannot be read: Is a directory.")
    }

    @Test func refusesAHomeWhoseNameIsNoUTF8() async throws {
        let tool = try Tool.executable.path
        let words = Self.profile.joined(separator: " ")
        let line = "HOME=$(printf '\(directory.path)/caf\\351'); mkdir \"$HOME\"; export HOME; exec '\(tool)' \(words)"
        let process = try Tool(shell: line, [:])
        try process.closeInput()
        let outcome = try await process.outcome()
        #expect(outcome.status == 64 && outcome.errors.contains("HOME is no UTF-8"), "\(outcome.errors)")
        #expect(try Shell.run("ls '\(directory.path)' | wc -l") == "1\n")
    }
}
