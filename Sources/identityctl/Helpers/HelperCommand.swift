// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// The command that other programs ask for tokens, in their own protocols.
struct HelperCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "helper",
        abstract: "Answers git, docker and other programs, which ask for a token in their own protocol.",
        discussion: """
            'helper git get' is the same as 'git-credential-identityctl get'; make links of these names. The profile \
            that serves the address gives the token. With --profile or other options, --serves ADDRESS (or \
            IDENTITYCTL_SERVES) says which address gets it, and no other does. --username NAME (or IDENTITYCTL_USERNAME) \
            goes with it, 'oauth2' unless given. The options of 'token' come before the operation. A helper never asks a \
            person. Where a program names no address, the default profile gives the token, or --profile.

            \(Helper.all.map(\.help).joined(separator: " "))
            """
    )

    /// The program that asks, options, and the operation, which some programs do not have.
    @Argument(parsing: .captureForPassthrough) var arguments: [String]

    init() {}

    init(arguments: [String]) {
        self.arguments = arguments
    }

    /// Creates the command if the program was called by a helper's name, or as `helper`.
    init?(calledAs words: [String]) {
        let helper: Helper
        if let linked = Helper.called(by: words.first?.split(separator: "/").last) {
            helper = linked
            self.init(arguments: [helper.name] + words.dropFirst())
        } else {
            guard words.count > 2, words[1] == "helper", let named = Helper.named(words[2]) else { return nil }
            helper = named
            self.init(arguments: Array(words.dropFirst(2)))
        }
        if helper.isReplaced { _ = InheritedState.atStart }
    }

    var output: OutputOptions {
        var output = OutputOptions()
        output.json = false
        output.logLevel = nil
        return output
    }

    var tellsLossByStatus: Bool { false }

    func run(in session: Session) async throws {
        guard let helper = Helper.named(arguments.first) else {
            let names = Helper.all.map { "'helper \($0.name)'" }.joined(separator: ", ")
            throw UsageError("Which helper? One of \(names).")
        }
        do {
            try await helper.answer(Array(arguments.dropFirst()), in: session)
        } catch let ended as Ended {
            throw ended
        } catch {
            let (cause, advice) = await Helper.explanation(of: error, in: session)
            session.report(cause, advice: advice)
            guard let failure = helper.failure else { throw Ended(status: ExitStatus(for: cause)) }
            try session.result(failure(cause, advice) + "\n")
            throw Ended(status: .other)
        }
    }
}
