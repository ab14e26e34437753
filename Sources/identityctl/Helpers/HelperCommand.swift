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
        // Another 'keyring' may take the place of this process, with the signals of its start.
        if arguments.first == HelperProgram.keyring.rawValue { _ = InheritedState.atStart }
    }

    var output: OutputOptions {
        var output = OutputOptions()
        output.json = false
        output.logLevel = nil
        return output
    }

    var tellsLossByStatus: Bool { false }

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
            // Docker reads a helper's standard output, and shows that. Some programs ask for every registry of the file,
            // whatever they pull: a sign-in that is missing for one of them must not end the others.
            let isSignedOut = ((cause as? AuthenticationError)?.code).map { .interactionRequired ~= $0 } ?? false
            let words = PlainReport.error(cause) + [advice].compactMap(\.self)
            try session.result((isSignedOut ? DockerCredential.miss : words.joined(separator: " ")) + "\n")
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
        if let problem = asked.problem { session.console.line(problem) }
        guard call.operation == "get" else {
            guard let refused = asked.secret else { return }
            // A late call about an older token changes nothing.
            let source = try call.source(for: asked.address, of: asked.username, in: session)
            _ = try await source?.token(in: session, insteadOf: refused)
            return
        }
        do {
            guard let source = try call.source(for: asked.address, of: asked.username, in: session),
                let token = try await source.token(in: session)
            else { return }
            let chosen = source.username ?? token.username
            if let chosen, let username = asked.username, chosen != username { return }
            let answer = asked.answer(
                username: chosen ?? asked.username ?? HelperCall.anyUsername,
                token: token.text,
                expiresOn: Int(token.expiresOn.timeIntervalSince1970)
            )
            try session.result(answer)
        } catch let failure as HelperFailure {
            // A password would not help: git ends, with the message on standard error.
            try session.result("quit=1\n")
            throw failure
        }
    }

    private func answerKubectl(_ call: HelperCall, _ session: Session) async throws {
        let asked = try ExecCredential(parsing: session.environment["KUBERNETES_EXEC_INFO"])
        guard let source = try call.source(for: asked.server.flatMap(ServedAddress.init(asked:)), in: session),
            let token = try await source.token(in: session, wantsIDToken: !call.wantsAccessToken)
        else {
            let cluster = asked.server.map(\.printable)
            throw UsageError(
                "Nothing serves \(cluster ?? "a cluster without an address"). Name a profile in kubeconfig (args: --profile NAME), "
                    + "or add a line to one: serves = \(cluster ?? "https://CLUSTER"). With 'provideClusterInfo: true' kubectl tells "
                    + "the address."
            )
        }
        try session.result(asked.answer(token: token.text, expiresOn: token.expiresOn))
    }

    private func answerDocker(_ call: HelperCall, _ session: Session) async throws {
        switch call.operation {
        case "get":
            let server = try DockerCredential.server(parsing: try HelperInput.request(endsAtEmptyLine: false))
            for address in DockerCredential.addresses(server) {
                guard let source = try call.source(for: address, in: session),
                    let token = try await source.token(in: session)
                else { continue }
                let username = source.username ?? token.username ?? HelperCall.anyUsername
                return try session.result(
                    DockerCredential.answer(server: server, username: username, token: token.text)
                )
            }
            try session.result(DockerCredential.miss + "\n")
            throw Ended(status: .other)
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
struct HelperFailure: Error {
    let cause: any Error
    let options: SharedOptions
}
