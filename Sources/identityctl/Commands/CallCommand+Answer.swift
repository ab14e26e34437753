// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import IdentityClient
import IdentityResources

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
