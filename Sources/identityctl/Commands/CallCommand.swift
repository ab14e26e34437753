// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Glibc
import HTTPTypes
import IdentityClient
import IdentityResources
import Synchronization

/// The command that sends a request to an API with the token of an account.
struct CallCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "call",
        abstract: "Sends a request to an API with an account's access token, and prints the answer's body.",
        discussion: """
            The token is acquired without a question, renewed once if the API refuses it, and sent only to the URL's \
            origin; that of a resource only to the resource's address and below it. The status is 22 if the API answers with another status than 200 to 299; the body is printed \
            nevertheless. The status is 2 if a person has to sign in. On a terminal, control characters in the answer \
            are shown as text.
            """
    )

    @Argument(help: ArgumentHelp("The address: https, or http on this computer.", valueName: "url"))
    var url: String

    @OptionGroup var provider: ProviderOptions
    @OptionGroup var token: TokenOptions
    @OptionGroup var account: AccountOption
    @OptionGroup var scheme: SchemeOption
    @OptionGroup var message: MessageOptions
    @OptionGroup var output: OutputOptions

    var isVerbose: Bool { message.verbose }
    var clientOptions: ProviderOptions? { provider }
    var asksAgent: Bool { true }

    var readsSignIns: Bool { true }
    var sharedOptions: SharedOptions { provider.shared(token, account, scheme) }

    func route(_ variables: Variables, _ lines: ProfileLines) throws -> TokenRoute {
        try .calling(url, provider, variables, lines)
    }

    func run(in session: Session) async throws {
        let address = try URL(called: url)
        let resource = session.route.resource
        let asking = Asking.ofCommand(session.environment, isTerminal: session.console.isTerminal)
        if let resource {
            if asking == .here {
                try await signIn(for: resource, [], in: session)
            } else if session.environment.profile?.isOfResource != true {
                throw AuthenticationError.unknownResource(resource)
            }
        }
        let environment = session.environment
        let scopes = try token.scopes(environment)
        let claims = try token.claims(environment)
        let timeout = try message.chosenTimeout()
        var request = HTTPRequest(try message.chosenMethod(), to: address, headerFields: try message.fields())
        let body = try await message.body()
        if body != nil, request.headerFields[.contentType] == nil {
            request.headerFields[.contentType] = message.defaultContentType
        }

        try scheme.checkWorksWithoutAgent(environment)
        let scheme = try scheme.chosen(environment)
        let access = try await access(in: session)
        if let claims {
            var parameters = SilentParameters(scopes: scopes, account: access.account, claims: claims)
            parameters.scheme = scheme
            _ = try await access.acquire(parameters)
        }
        let personal = asking == .here ? resource.map { PersonalAccess(self, access, scopes, for: $0, session) } : nil
        let client = try client(access, scopes, scheme, timeout: timeout, signingInWith: personal, session)
        let response = try await answer(to: request, body, client, session.console)
        guard response.status.kind == .successful else { throw APIRefusal(response, now: Int64(time(nil))) }
        if session.isJSON, !message.include, let file = message.output, file != "-" {
            try session.done("The answer is in \(file.printable).")
        }
    }

    func advice(on error: any Error, in session: Session) -> String? {
        if case AuthenticationError.Code.networkTimedOut = error {
            return "To allow more time, give --timeout SECONDS."
        }
        if case AuthenticationError.Code.interactionRequired = error, let resource = session.route.resource {
            return "Run: \(sharedOptions.replacing("--resource", with: resource.text).command("login"))"
        }
        guard session.route.agent != nil else { return nil }
        return AgentAdvice.text(of: error) ?? PlainReport.advice(error, sharedOptions, at: " where the agent runs")
    }
}

/// The access of a person who signs in where the API demands it, after which the tokens may be of another client.
final class PersonalAccess: Sendable {
    private let command: CallCommand
    private let resource: Given
    private let session: Session
    private let state: Mutex<(access: TokenAccess, scopes: Set<Scope>)>

    init(_ command: CallCommand, _ access: TokenAccess, _ scopes: Set<Scope>, for resource: Given, _ session: Session) {
        (self.command, self.resource, self.session) = (command, resource, session)
        state = Mutex((access, scopes))
    }

    @Sendable func acquire(_ parameters: SilentParameters) async throws -> AuthenticationResult {
        let (access, scopes) = state.withLock(\.self)
        var parameters = parameters
        (parameters.scopes, parameters.account) = (scopes, access.account)
        return try await access.acquire(parameters)
    }

    @Sendable func signIn(after error: AuthenticationError) async throws {
        let (current, scopes) = state.withLock { state in
            state.scopes.formUnion(error.challenge?.scopes ?? [])
            return state
        }
        // Without a demand, the resource or the server has refused what there is.
        let isRefused = error.challenge == nil && error.claims == nil
        try await command.signIn(
            for: resource,
            scopes,
            in: session,
            isRefused: isRefused,
            replacing: error.isOfForgottenClient ? current.application.configuration.clientID : nil
        )
        let access = try await command.access(in: session)
        state.withLock { $0.access = access }
    }
}

extension CallCommand {
    /// Returns what acquires the tokens.
    func access(in session: Session) async throws -> TokenAccess {
        try await TokenAccess(provider, account, for: "call", in: session)
    }

    /// Signs in for the API.
    ///
    /// - Parameters:
    ///   - isRefused: Whether the API takes the tokens that there are no more.
    ///   - forgotten: The registered client that the server does not know any more.
    func signIn(
        for resource: Given,
        _ scopes: Set<Scope>,
        in session: Session,
        isRefused: Bool = false,
        replacing forgotten: ClientID? = nil
    ) async throws {
        var login = try LoginCommand.ungiven
        login.provider = provider
        login.provider.resource = resource.text
        login.token.scopes = scopes.map(\.rawValue).sorted()
        login.account = account
        try await login.signIn(
            in: session,
            for: resource,
            isQuiet: true,
            isRefused: isRefused,
            replacing: forgotten
        )
    }
}

extension CallCommand {
    /// The time until an answer must begin, without `--timeout`. The time for its body has no limit.
    private static let defaultTimeout = Duration.seconds(60)
    private static let noLimit = Duration.seconds(1_000_000)

    func client(
        _ access: TokenAccess,
        _ scopes: Set<Scope>,
        _ scheme: AuthenticationScheme,
        timeout: Duration?,
        signingInWith personal: PersonalAccess?,
        _ session: Session
    ) throws -> AuthenticatedClient {
        let console = session.console
        let transport = AnswerTimeoutTransport(
            base: try provider.transport(session.environment, timeout: timeout ?? Self.noLimit),
            timeout: timeout ?? Self.defaultTimeout
        )
        return AuthenticatedClient(
            application: access.application,
            account: access.account,
            scopes: scopes,
            transport: transport,
            timeout: timeout ?? Self.defaultTimeout,
            scheme: scheme,
            place: access.place,
            acquire: personal?.acquire ?? access.acquire,
            signIn: personal?.signIn
        ) { host, duration in
            guard duration > .zero else { return }
            console.line("\(host.printable) asks to wait: trying again in \(duration.wholeSeconds) s. Ctrl-C gives up.")
        }
    }

    /// Sends the request, and writes the answer's head and body to their destinations.
    func answer(
        to request: HTTPRequest,
        _ body: RequestBody?,
        _ client: AuthenticatedClient,
        _ console: Console
    ) async throws -> HTTPResponse {
        let destination = destination()
        var output = if case .terminal(let terminal) = destination { terminal } else { AnswerOutput() }
        var path: String?
        if case .file(let file) = destination { path = file }
        guard message.upload == nil, path == nil else {
            let (response, rest) = try await transfer(request, body, to: path, client, console)
            try writeHead(of: response, to: &output)
            try output.write(rest)
            try output.end()
            return response
        }
        let host = (request.authority ?? "").printable
        let (response, answer) = try await console.showingProgress(after: .seconds(2)) { elapsed in
            "Waiting for \(host)… \(elapsed.wholeSeconds) s. Ctrl-C gives up."
        } while: {
            try await client.stream(request, body: body)
        }
        try writeHead(of: response, to: &output)
        for try await piece in answer { try output.write(piece) }
        try output.end()
        return response
    }

    /// The destination of an answer. A terminal, under any name, shows an answer as text.
    private enum Destination {
        case standardOutput
        case terminal(AnswerOutput)
        case file(String)
    }

    private func destination() -> Destination {
        guard let path = message.output else { return .standardOutput }
        guard path != "-" else { return StandardStream.output.isTerminal ? .standardOutput : .file("/dev/stdout") }
        return TerminalFile(path).map { Destination.terminal(AnswerOutput(to: $0)) } ?? .file(path)
    }

    private func transfer(
        _ request: HTTPRequest,
        _ body: RequestBody?,
        to path: String?,
        _ client: AuthenticatedClient,
        _ console: Console
    ) async throws -> (HTTPResponse, [UInt8]) {
        let transfer =
            if let path {
                client.download(request, body: body, to: path)
            } else {
                client.upload(body ?? .bytes([]), with: request)
            }
        var bar = ProgressBar()
        for await progress in transfer.progress { console.progress(bar.text(progress, at: .now)) }
        console.clearProgress()
        return try await transfer.value
    }

    private func writeHead(of response: HTTPResponse, to output: inout AnswerOutput) throws {
        guard message.include else { return }
        let fields = response.headerFields.map { "\($0.name.rawName): \($0.value)\n" }.joined()
        let head = "HTTP \(response.status.code) \(response.status.reasonPhrase)\n\(fields)\n"
        try output.write(Array(head.utf8))
    }
}
