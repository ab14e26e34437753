// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import IdentityClient

/// The command that other programs ask for tokens, in their own protocols.
struct HelperCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "helper",
        abstract: "Answers git, docker or kubectl, which ask for a token in their own protocol.",
        discussion: """
            'helper git get' is the same as 'git-credential-identityctl get', 'helper docker get' as \
            'docker-credential-identityctl get'; make links of these names. --serves ADDRESS (or IDENTITYCTL_SERVES) \
            says which address gets the token, and no other gets it. --username NAME (or IDENTITYCTL_USERNAME) goes \
            with it, 'oauth2' unless given. The options of 'token' come before the operation. A helper never asks a \
            person. 'helper kubectl', for the exec section of kubeconfig, takes no operation, and prints the ID token; \
            with --access-token the access token.
            """
    )

    /// The program that asks (`git`, `docker` or `kubectl`), options, and the operation, which kubectl does not have.
    @Argument(parsing: .captureForPassthrough) var arguments: [String]

    private static let programs = ["git", "docker", "kubectl"]

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
            guard words.count > 2, words[1] == "helper", Self.programs.contains(words[2]) else { return nil }
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
        let call = try? HelperCall(arguments, Environment.process)
        return call?.token.sharedOptions ?? SharedOptions()
    }

    func run(in session: Session) async throws {
        guard let program = arguments.first, Self.programs.contains(program) else {
            throw UsageError("Which helper? 'identityctl helper git', 'helper docker' or 'helper kubectl'.")
        }
        let call = try HelperCall(arguments, session.environment)
        if program == "git" { return try await answerGit(call, session) }
        if program == "kubectl" { return try await answerKubectl(call, session) }
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

    private func answerKubectl(_ call: HelperCall, _ session: Session) async throws {
        let asked = try ExecCredential(parsing: session.environment["KUBERNETES_EXEC_INFO"])
        guard call.servesAll || call.serves(asked.server.flatMap(ServedAddress.init)) else {
            throw UsageError("--serves names another cluster, or kubeconfig lacks 'provideClusterInfo: true'.")
        }
        let token = try await HelperToken.acquire(call.token, in: session, wantsIDToken: !call.wantsAccessToken)
        try session.result(asked.answer(token: token.text, expiresOn: token.expiresOn))
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
    let wantsAccessToken: Bool
    let token: TokenCommand
    private let served: ServedAddress?

    /// - Parameter arguments: The program that asks, and its arguments.
    /// - Throws: `UsageError` for options that a helper does not know, or an address that gets no tokens.
    init(_ arguments: [String], _ environment: Environment) throws {
        var words = arguments.dropFirst()
        let isKubectl = arguments.first == "kubectl"
        guard let operation = isKubectl ? "get" : words.popLast() else {
            throw UsageError("A helper needs an operation, such as 'get'.")
        }
        self.operation = operation
        var rest: [String] = []
        var own: [String: String] = [:]
        var wantsAccessToken = false
        while let word = words.popFirst() {
            switch word {
            case "--serves", "--username": own[word] = words.popFirst() ?? ""
            case "--access-token" where isKubectl: wantsAccessToken = true
            default: rest.append(word)
            }
        }
        let known = TokenCommand(quickly: ["token"] + rest)
        guard let token = known, !token.idToken, !token.forceRefresh, !token.output.json else {
            throw UsageError(
                "A helper takes --serves, --username and the options of 'token' that have a value, with full names."
            )
        }
        self.token = token
        self.wantsAccessToken = wantsAccessToken
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

    /// Whether no address was named. Only kubectl's own file then says which cluster gets the token.
    var servesAll: Bool { served == nil }

    /// Whether `address` gets the token.
    func serves(_ address: ServedAddress?) -> Bool {
        guard let served, let address else { return false }
        return served.serves(address)
    }
}
