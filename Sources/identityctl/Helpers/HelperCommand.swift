// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import IdentityClient

/// The command that other programs ask for tokens, in their own protocols.
struct HelperCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "helper",
        abstract: "Answers git or docker, which ask for a token in their own protocol.",
        discussion: """
            'helper git get' is the same as 'git-credential-identityctl get', 'helper docker get' as \
            'docker-credential-identityctl get'; make links of these names. --serves ADDRESS (or IDENTITYCTL_SERVES) \
            says which address gets the token, and no other gets it. --username NAME (or IDENTITYCTL_USERNAME) goes \
            with it, 'oauth2' unless given. The options of 'token' come before the operation. A helper never asks a \
            person.
            """
    )

    /// The program that asks (`git` or `docker`), options, and the operation.
    @Argument(parsing: .captureForPassthrough) var arguments: [String]

    init() {}

    init(arguments: [String]) {
        self.arguments = arguments
    }

    /// Creates the command if the program was called by a helper's name, or as `helper`.
    init?(calledAs words: [String]) {
        let name = words.first?.split(separator: "/").last
        switch name {
        case "git-credential-identityctl": self.init(arguments: ["git"] + words.dropFirst())
        case "docker-credential-identityctl": self.init(arguments: ["docker"] + words.dropFirst())
        default:
            guard words.count > 2, words[1] == "helper", ["git", "docker"].contains(words[2]) else { return nil }
            self.init(arguments: Array(words.dropFirst(2)))
        }
    }

    var output: OutputOptions {
        var output = OutputOptions()
        output.json = false
        output.logLevel = nil
        return output
    }

    var sharedOptions: SharedOptions {
        // Without a readable call, the error is about the call, and needs no advice.
        let call = try? HelperCall(Array(arguments.dropFirst()), Environment.process)
        return call?.token.sharedOptions ?? SharedOptions()
    }

    func run(in session: Session) async throws {
        guard let program = arguments.first, ["git", "docker"].contains(program) else {
            throw UsageError("Which helper? 'identityctl helper git' or 'identityctl helper docker'.")
        }
        let call = try HelperCall(Array(arguments.dropFirst()), session.environment)
        if program == "git" { return try await answerGit(call, session) }
        do {
            try await answerDocker(call, session)
        } catch let failure as DockerFailure {
            try session.result(failure.message + "\n")
            throw Ended(status: .other)
        } catch {
            // Docker shows a helper's standard output, not its standard error.
            session.report(error, advice: PlainReport.advice(error, sharedOptions))
            try session.result(PlainReport.error(error).joined(separator: " ") + "\n")
            throw Ended(status: .other)
        }
    }

    private func answerGit(_ call: HelperCall, _ session: Session) async throws {
        guard ["get", "erase"].contains(call.operation) else {
            if call.operation == "capability" { try session.result("version 0\ncapability authtype\n") }
            return
        }
        let asked = try GitCredential(parsing: try HelperInput.request(endsAtEmptyLine: true))
        guard call.serves(asked.address) else { return }
        if let chosen = call.username, let username = asked.username, chosen != username { return }
        let token = try await HelperToken.acquire(call.token, in: session)
        if call.operation == "erase" {
            // A late call about an older token changes nothing.
            if asked.holds(token.text) {
                _ = try await HelperToken.acquire(call.token, in: session, forcesRefresh: true)
            }
            return
        }
        let answer = asked.answer(
            username: call.username ?? asked.username ?? HelperCall.anyUsername,
            token: token.text,
            expiresOn: Int(token.expiresOn.timeIntervalSince1970)
        )
        try session.result(answer)
    }

    private func answerDocker(_ call: HelperCall, _ session: Session) async throws {
        switch call.operation {
        case "get":
            let server = try DockerCredential.server(parsing: try HelperInput.request(endsAtEmptyLine: false))
            guard call.serves(DockerCredential.address(server)) else {
                throw DockerFailure(message: DockerCredential.miss)
            }
            let token = try await HelperToken.acquire(call.token, in: session)
            let username = call.username ?? HelperCall.anyUsername
            try session.result(DockerCredential.answer(server: server, username: username, token: token.text))
        case "store", "erase": return  // 'docker login' and 'docker logout' keep and end no sign-in here.
        case "list": try session.result("{}\n")
        case "version": try session.result("identityctl \(LibraryVersion.current)\n")
        default: throw DockerFailure(message: "Unknown credential action `\(call.operation.printable)`")
        }
    }
}

/// An answer on standard output with status 1, as docker expects it.
private struct DockerFailure: Error {
    let message: String
}

/// The options and the operation of a call.
struct HelperCall {
    /// The username that most servers accept with a token.
    static let anyUsername = "oauth2"

    let operation: String
    let username: String?
    let token: TokenCommand
    private let served: ServedAddress?

    /// - Throws: `UsageError` for options that a helper does not know, or an address that gets no tokens.
    init(_ arguments: [String], _ environment: Environment) throws {
        guard let operation = arguments.last else { throw UsageError("A helper needs an operation, such as 'get'.") }
        self.operation = operation
        var rest: [String] = []
        var own: [String: String] = [:]
        var words = arguments.dropLast()
        while let word = words.popFirst() {
            if word == "--serves" || word == "--username" {
                own[word] = words.popFirst() ?? ""
            } else {
                rest.append(word)
            }
        }
        guard let token = TokenCommand(quickly: ["token"] + rest) else {
            throw UsageError("A helper takes --serves, --username and the options of 'token', each with its full name.")
        }
        self.token = token
        username = try environment.given("username", own["--username"])?.text
        guard username?.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) != false else {
            throw UsageError("--username: control characters are not possible.")
        }
        served = try environment.given("serves", own["--serves"]).map { given in
            guard let address = ServedAddress(given.text) else {
                throw given.error("give an https address, such as https://git.example.com; http only on this machine.")
            }
            return address
        }
    }

    /// Whether `address` gets the token.
    func serves(_ address: ServedAddress?) -> Bool {
        guard let served, let address else { return false }
        return served.serves(address)
    }
}
