// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import IdentityClient

/// The command that other programs ask for tokens, in their own protocols.
struct HelperCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "helper",
        abstract: "Answers git, docker and other programs, which ask for a token in their own protocol.",
        discussion: """
            'helper git get' is the same as 'git-credential-identityctl get', 'helper docker get' as \
            'docker-credential-identityctl get'; make links of these names. The profile \
            that serves the address gives the token. With --profile or other options, --serves ADDRESS (or \
            IDENTITYCTL_SERVES) says which address gets it, and no other does. --username NAME (or IDENTITYCTL_USERNAME) \
            goes with it, 'oauth2' unless given. The options of 'token' come before the operation. A helper never asks a \
            person. 'helper kubectl', for the exec section of kubeconfig, takes no operation, and prints the ID token; \
            with --access-token the access token. 'helper xoauth2 --user NAME' and 'helper oauthbearer --user NAME --host \
            SERVER --port PORT' print what a mail program sends to sign in; they take the default profile, or --profile. \
            'helper keyring', or a link named 'keyring', is for pip and uv; calls for others go to the next 'keyring' in PATH. \
            'cargo-credential-identityctl' is for cargo, 'helper bazel get' for Bazel, 'helper pnpm' for pnpm. \
            'helper aws --role-arn ARN' is AWS's credential_process: it takes the role with the ID token.
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
        if let program = HelperProgram(link: words.first?.split(separator: "/").last) {
            self.init(arguments: [program.rawValue] + words.dropFirst())
        } else {
            guard words.count > 2, words[1] == "helper", HelperProgram(rawValue: words[2]) != nil else { return nil }
            self.init(arguments: Array(words.dropFirst(2)))
        }
    }

    var output: OutputOptions {
        var output = OutputOptions()
        output.json = false
        output.logLevel = nil
        return output
    }

    func run(in session: Session) async throws {
        guard let program = arguments.first.flatMap(HelperProgram.init(rawValue:)) else {
            throw UsageError("Which helper? One of \(HelperProgram.list).")
        }
        do {
            if program == .keyring { return try await answerKeyring(session) }
            if program == .cargo { return try await answerCargo(session) }
            let call = try HelperCall(program, Array(arguments.dropFirst()))
            switch program {
            case .git: try await answerGit(call, session)
            case .docker: try await answerDocker(call, session)
            case .kubectl: try await answerKubectl(call, session)
            case .xoauth2, .oauthbearer: try await answerMail(program, call, session)
            case .bazel: try await answerBazel(call, session)
            case .pnpm: try await answerPnpm(call, session)
            case .aws: try await answerAWS(call, session)
            case .keyring, .cargo: break
            }
        } catch let ended as Ended {
            throw ended
        } catch {
            let (cause, advice) = await explanation(of: error, in: session)
            session.report(cause, advice: advice)
            guard program == .docker else { throw Ended(status: ExitStatus(for: cause)) }
            // Docker reads a helper's standard output, and shows that.
            try session.result(PlainReport.error(cause).joined(separator: " ") + "\n")
            throw Ended(status: .other)
        }
    }

    /// Returns what failed, and what a person can do about it.
    func explanation(of error: any Error, in session: Session) async -> (cause: any Error, advice: String?) {
        let failure = error as? HelperFailure
        let cause = failure?.cause ?? error
        let options = failure?.options ?? SharedOptions()
        let known = await session.adviceOnStore(cause, options)
        return (cause, AgentAdvice.text(of: cause) ?? known ?? PlainReport.advice(cause, options))
    }

    private func answerGit(_ call: HelperCall, _ session: Session) async throws {
        guard ["get", "erase"].contains(call.operation) else {
            if call.operation == "capability" { try session.result("version 0\ncapability authtype\n") }
            return
        }
        let asked = try GitCredential(parsing: try HelperInput.request(endsAtEmptyLine: true))
        guard let source = try call.source(for: asked.address, in: session) else { return }
        if let chosen = source.username, let username = asked.username, chosen != username { return }
        guard let token = try await source.token(in: session) else { return }
        let chosen = source.username ?? token.username
        if let chosen, let username = asked.username, chosen != username { return }
        if call.operation == "erase" {
            // A late call about an older token changes nothing.
            if asked.holds(token.text) { _ = try await source.token(in: session, forcesRefresh: true) }
            return
        }
        let answer = asked.answer(
            username: chosen ?? asked.username ?? HelperCall.anyUsername,
            token: token.text,
            expiresOn: Int(token.expiresOn.timeIntervalSince1970)
        )
        try session.result(answer)
    }

    private func answerKubectl(_ call: HelperCall, _ session: Session) async throws {
        let asked = try ExecCredential(parsing: session.environment["KUBERNETES_EXEC_INFO"])
        guard let source = try call.source(for: asked.server.flatMap(ServedAddress.init), in: session),
            let token = try await source.token(in: session, wantsIDToken: !call.wantsAccessToken)
        else {
            throw UsageError(
                "Nothing serves this cluster. Give --profile or --serves; with 'provideClusterInfo: true' in kubeconfig, the "
                    + "profile is found by the cluster's address."
            )
        }
        try session.result(asked.answer(token: token.text, expiresOn: token.expiresOn))
    }

    private func answerDocker(_ call: HelperCall, _ session: Session) async throws {
        switch call.operation {
        case "get":
            let server = try DockerCredential.server(parsing: try HelperInput.request(endsAtEmptyLine: false))
            guard let source = try call.source(for: DockerCredential.address(server), in: session),
                let token = try await source.token(in: session)
            else {
                try session.result(DockerCredential.miss + "\n")
                throw Ended(status: .other)
            }
            let username = source.username ?? token.username ?? HelperCall.anyUsername
            try session.result(DockerCredential.answer(server: server, username: username, token: token.text))
        case "store", "erase": return  // 'docker login' and 'docker logout' keep and end no sign-in here.
        case "list": try session.result("{}\n")
        case "version": try session.result("identityctl \(LibraryVersion.current)\n")
        default: throw UsageError("Unknown credential action `\(call.operation.printable)`")
        }
    }
}

extension HelperCommand {
    private func answerMail(_ program: HelperProgram, _ call: HelperCall, _ session: Session) async throws {
        let own = { (name: String) in call.own[name] ?? "" }
        let form = { (token: String) in
            try program == .xoauth2
                ? MailResponse.xoauth2(user: own("--user"), token: token)
                : MailResponse.oauthbearer(
                    user: own("--user"),
                    host: own("--host"),
                    port: own("--port"),
                    token: token
                )
        }
        _ = try form("")  // A mistake in an option is told before the network is asked.
        try session.result(try form(try await call.source(in: session).anyToken(in: session).text))
    }
}

/// An error of a token, and the options of the command that signs in.
private struct HelperFailure: Error {
    let cause: any Error
    let options: SharedOptions
}

/// The options and the operation of a call.
struct HelperCall {
    /// The username that most servers accept with a token.
    static let anyUsername = "oauth2"

    let operation: String
    let wantsAccessToken: Bool
    /// The values of the options that only this program has.
    let own: [String: String]
    private let isKubectl: Bool
    private let token: TokenCommand
    private var serves: String? { own["--serves"] }
    private var username: String? { own["--username"] }

    /// - Throws: `UsageError` for options that a helper does not know.
    init(_ program: HelperProgram, _ arguments: [String]) throws {
        var words = arguments[...]
        isKubectl = program == .kubectl
        guard let operation = program.hasOperation ? words.popLast() : "get" else {
            throw UsageError("A helper needs an operation, such as 'get'.")
        }
        self.operation = operation
        var rest: [String] = []
        var own: [String: String] = [:]
        var wantsAccessToken = false
        while let word = words.popFirst() {
            switch word {
            case _ where program.options.contains(word): own[word] = words.popFirst() ?? ""
            case "--access-token" where isKubectl: wantsAccessToken = true
            default: rest.append(word)
            }
        }
        let known = TokenCommand(quickly: ["token"] + rest)
        guard let token = known, !token.silent.idToken, !token.silent.forceRefresh, !token.output.json else {
            throw UsageError(
                "This helper takes \(program.options.sorted().joined(separator: ", ")) and the options of 'token' that "
                    + "have a value, with full names."
            )
        }
        self.token = token
        self.wantsAccessToken = wantsAccessToken
        self.own = own
    }

    /// Returns what gives the token for an address, or `nil` if nothing serves the address.
    ///
    /// That is the client that an option, a variable or `--profile` names, if it serves the address, or else the profile
    /// that does. With an agent it is the agent's profile. Kubectl's own file says which cluster a client is for, if neither `--serves` nor a line of the profile
    /// does.
    func source(for address: ServedAddress?, in session: Session) throws -> HelperSource? {
        let (variables, options) = (session.environment, token.provider)
        let isNamed = try options.namesOne(variables) || variables.given("profile", options.profile) != nil
        let agent = try variables.given("agent", nil)
        let environment: Environment
        var asked: ServedAddress?
        if isNamed || (isKubectl && address == nil) {
            environment = try agent == nil ? options.environment(above: variables) : variables
            let served = try environment.words("serves", serves.map { [$0] } ?? []).map(ServedAddress.init(option:))
            if served.isEmpty, agent != nil, !isKubectl {
                guard let address else { return nil }
                asked = address  // the agent knows what its profile serves
            } else {
                guard served.isEmpty ? isKubectl : served.contains(where: { $0.serves(address) }) else { return nil }
            }
        } else if agent != nil {
            guard let address else { return nil }
            (environment, asked) = (variables, address)
        } else {
            guard let address, let directory = try? ProfileDirectory(variables),
                let profile = try directory.profile(
                    serving: address,
                    problem: { session.console.line("Warning: \($0)") }
                )
            else { return nil }
            environment = variables.above(profile)
        }
        let username = try environment.given("username", username)
        guard username?.text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) != false else {
            throw UsageError("--username: control characters are not possible.")
        }
        return HelperSource(
            environment: environment,
            username: username?.text,
            command: token,
            agent: agent.map { ($0, asked) }
        )
    }

    /// Returns what gives the token for a program that names no address: the client that an option, a variable, or
    /// `--profile` names, or else the default profile.
    func source(in session: Session) throws -> HelperSource {
        let environment = try token.environment(above: session.environment)
        let agent = try environment.given("agent", nil).map { (socket: $0, serves: ServedAddress?.none) }
        return HelperSource(environment: environment, username: nil, command: token, agent: agent)
    }
}

/// The options that give the token for an address.
struct HelperSource: Sendable {
    let environment: Environment
    /// The username that goes with the token, if one was chosen.
    let username: String?
    fileprivate let command: TokenCommand
    /// The agent that is asked, and the address that its profile must serve.
    fileprivate let agent: (socket: Given, serves: ServedAddress?)?

    /// The time that a server may take.
    var timeout: Duration {
        get throws { try environment.given("timeout", command.silent.timeout)?.seconds(from: 1) ?? .seconds(30) }
    }

    /// Returns the token for a program that names no address.
    ///
    /// - Throws: `HelperFailure`, and `.cache` if an agent gives no token.
    func anyToken(in session: Session, wantsIDToken: Bool = false) async throws -> HelperToken {
        guard let token = try await token(in: session, wantsIDToken: wantsIDToken) else {
            throw AuthenticationError.agent("unavailable", "The agent's answer has no token.")
        }
        return token
    }

    /// Returns the token; `nil` if the agent serves no such address.
    ///
    /// - Throws: `HelperFailure`.
    func token(
        in session: Session,
        wantsIDToken: Bool = false,
        forcesRefresh: Bool = false
    ) async throws -> HelperToken? {
        do {
            if let agent {
                return try await HelperToken.acquire(
                    command,
                    environment,
                    through: agent.socket,
                    serves: agent.serves,
                    wantsIDToken: wantsIDToken,
                    forcesRefresh: forcesRefresh
                )
            }
            return try await HelperToken.acquire(
                command,
                environment,
                in: session,
                wantsIDToken: wantsIDToken,
                forcesRefresh: forcesRefresh
            )
        } catch {
            let options = command.sharedOptions
            let advised = environment.profile.map { options.replacing("--profile", with: $0.name.text) } ?? options
            throw HelperFailure(cause: error, options: advised)
        }
    }
}
