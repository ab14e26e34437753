// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityTesting
import Testing

/// Standard input, output and error, as a shell can redirect or close them.
@Suite(.timeLimit(.minutes(1))) struct DescriptorProcessTests {
    @Test(arguments: ["<&-", "<&- >&-"]) func aClosedInputHasEnded(redirections: String) async throws {
        let setup = try ToolSetup()
        let outcome = try await Tool.run(["login", "--manual"], setup.variables, redirections: redirections)
        #expect(outcome.status == 6, "\(outcome.errors)")
    }

    @Test func failsIfTheTokenCannotBeWritten() async throws {
        let setup = try ToolSetup()
        try await setup.signIn()
        let outcome = try await Tool.run(["token"], setup.variables, redirections: ">&-")
        #expect(outcome.status == 1)
        let message = "Standard output could not be written: Bad file descriptor"
        #expect(outcome.errors.contains(message), "\(outcome.errors)")
        let silent = try await Tool.run(["token"], setup.variables, redirections: "2>&-")
        #expect(silent.status == 0 && !silent.output.isEmpty)
    }

    @Test func sendsNoRequestIfTheBodyCannotBeWritten() async throws {
        let setup = try ToolSetup()
        try await setup.signIn()
        setup.provider.forgetRequests()
        let arguments = ["call", setup.issuer + "/userinfo", "--output", "-"]
        let outcome = try await Tool.run(arguments, setup.variables, redirections: ">&-")
        #expect(outcome.status == 1 && outcome.errors.contains("Bad file descriptor"), "\(outcome.errors)")
        #expect(setup.provider.requests.isEmpty)
    }

    /// Earlier content of the file, and later output of other programs, stays.
    @Test(arguments: ["/dev/stdout", "-", "/dev/fd/1", "/proc/self/fd/1", "link"])
    func writesToStandardOutputInsteadOfReplacingItsFile(name: String) async throws {
        let setup = try ToolSetup()
        try await setup.signIn()
        let link = setup.directory.path + "/link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "/dev/stdout")
        let path = name == "link" ? link : name
        let file = setup.directory.path + "/log"
        try Data("before\n".utf8).write(to: URL(fileURLWithPath: file))
        let arguments = ["call", setup.issuer + "/userinfo", "--output", path]
        let call = try await Tool.run(arguments, setup.variables, redirections: ">> '\(file)'")
        #expect(call.status == 0, "\(call.errors)")
        let text = try String(contentsOf: URL(fileURLWithPath: file), encoding: .utf8)
        #expect(text.hasPrefix("before\n{") && text.contains("subject-alice"), "\(text)")
    }
}
