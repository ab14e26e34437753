// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import IdentityClient
import IdentityResources
import Synchronization
import SystemSupport

/// A bridge's access to its server: the client that sends the person's token, and the sign-in before it.
///
/// The sign-in is done by a process of its own, so that it goes on if the bridge is ended meanwhile.
final class MCPAccess: Sendable {
    /// The time that a message waits for the person. It is below the 60 s after which hosts give a message up.
    private static let patience = Duration.seconds(55)
    /// The client, and the token that it sent last.
    private struct Made: Sendable {
        let client: AuthenticatedClient
        let sent: SentToken
    }

    private final class SentToken: Sendable {
        let text = Mutex<String?>(nil)
    }

    /// Shows the page of a sign-in through the host.
    let offer: MCPOffer
    private let command: MCPCommand
    private let session: Session
    private let transport: MCPTransport
    /// The client, and the scopes that were granted beyond the usual ones, because the server demanded them.
    private let made = Mutex<(client: Made?, demanded: Set<Scope>)>((nil, []))
    private let makings = SingleFlight<Set<Scope>, Made>()
    private let signIns = SingleFlight<SignInDemand, Void>()

    init(_ command: MCPCommand, _ session: Session) throws {
        (self.command, self.session, offer) = (command, session, MCPOffer(server: command.url))
        transport = MCPTransport(try command.provider.transport(session.environment, timeout: MCPTransport.silence))
    }

    /// Loads what the first request needs, in the background.
    func prepare() { transport.prepare() }

    /// The account whose token is sent.
    ///
    /// - Throws: As ``stream(_:body:asks:returnsRefusal:)``, without a question.
    var account: String {
        get async throws { try await client().client.account.id.rawValue }
    }

    /// Sends a request, whose answer is still arriving.
    ///
    /// - Parameters:
    ///   - asks: Whether the person is asked if there is no token.
    ///   - returnsRefusal: Whether the answer is returned if the server refuses a renewed token as well.
    /// - Throws: `AuthenticationError`, `UsageError`, `CancellationError`.
    func stream(
        _ request: HTTPRequest,
        body: [UInt8]? = nil,
        asks: Bool = true,
        returnsRefusal: Bool = false
    ) async throws -> (response: HTTPResponse, body: ResponseBody) {
        let body = body.map { RequestBody.json($0) }
        let host = (request.authority ?? "").printable
        var demand = SignInDemand()
        while true {
            var sent: SentToken?
            do {
                let made = try await client()
                sent = made.sent
                let answer = try await made.client.stream(request, body: body)
                if answer.response.status == .unauthorized {
                    if returnsRefusal { return answer }
                    break
                }
                // The client delivers it if the token claims to have the scopes.
                guard answer.response.status == .forbidden,
                    let challenge = ResourceChallenge(
                        inChallenges: answer.response.headerFields[values: .wwwAuthenticate]
                    )
                else { return answer }
                throw AuthenticationError(
                    .insufficientScope,
                    "\(host) demands scopes that the token lacks.",
                    challenge: challenge
                )
            } catch let error as AuthenticationError where .interactionRequired ~= error.code {
                // Another process may have signed in.
                made.withLock { $0.client = nil }
                guard asks, demand.note(error, of: sent?.text.withLock(\.self)) else { throw error }
                try await signIn(demand, after: error)
                made.withLock { made in
                    made.client = nil
                    made.demanded.formUnion(demand.scopes)
                }
            }
        }
        // A renewed token was refused as well.
        throw AuthenticationError(.loginRequired, "\(host) does not accept the tokens of this sign-in any more.")
    }

    private func client() async throws -> Made {
        let (client, demanded) = made.withLock(\.self)
        if let client { return client }
        return try await makings.run(demanded) { [self] in
            let (caller, scopes) = try await command.caller(demanding: demanded, session)
            let sent = SentToken()
            let client = AuthenticatedClient(
                application: caller.application,
                account: caller.account,
                scopes: scopes,
                transport: transport,
                timeout: .seconds(60),
                place: caller.place,
                acquire: { parameters in
                    let result = try await caller.acquire(parameters)
                    sent.text.withLock { $0 = result.accessToken }
                    return result
                },
                onWait: nil
            )
            let new = Made(client: client, sent: sent)
            made.withLock { $0.client = new }
            return new
        }
    }

    private func signIn(_ demand: SignInDemand, after error: AuthenticationError) async throws {
        let environment = session.environment
        guard try environment.given("agent", nil) == nil, try SignInTurn.isAllowed(environment) != false,
            offer.isPossible || SignInTurn.isPossible(environment), let turns = try command.turns(environment)
        else { throw error }
        let wanted = SignInDemand(scopes: demand.scopes.union(made.withLock(\.demanded)), refused: demand.refused)
        try await signIns.run(wanted) { [self] in
            try await offer.offering(turns) { try await self.signIn(wanted, after: error, turns) }
        }
    }

    private func signIn(_ demand: SignInDemand, after error: AuthenticationError, _ turns: SignInTurn) async throws {
        let end = ContinuousClock.now + Self.patience
        for _ in 0..<3 {
            do {
                // Another bridge's sign-in is waited for.
                try await turns.take(within: max(.zero, end - .now)).end()
            } catch {
                throw error is CancellationError ? error : self.pending(error)
            }
            guard case .needed(let account) = try await command.need(of: demand, session) else { return }
            guard !turns.isDeclined else {
                session.console.line(SignInTurn.wasDeclined)
                throw error
            }
            guard account == nil || !turns.hasAskedLately else {
                session.console.line(SignInTurn.hasAsked)
                throw error.saying(error.code, "\(error.message) \(SignInTurn.hasAsked)")
            }
            let isOffered = offer.isPossible
            guard isOffered || SignInTurn.isPossible(session.environment) else { throw error }
            let options = command.options(demanding: demand.scopes)
            session.console.line(
                "A person has to sign in. The browser opens; the same from a terminal: "
                    + command.login(demanding: demand.scopes, session.environment)
            )
            let outcome = try await DetachedProcess.run(
                "/proc/self/exe",
                arguments: ["identityctl", "mcp", command.url, "--sign-in"]
                    + (demand.refused.map { ["--refused=\($0)"] } ?? []) + options.words,
                environment: Self.variables.merging(isOffered ? MCPOffer.variables(turns) : [:]) { $1 },
                timeout: max(.zero, end - .now)
            )
            switch outcome {
            case .exited(status: 0): continue
            case _ where isOffered && !offer.isPossible: continue  // the browser opens
            case .running: throw pending(error)
            default: throw error
            }
        }
        throw error
    }

    /// The variables of a process that goes on without the bridge. The person looks at a browser, and at no terminal.
    static var variables: [String: String] {
        var variables = ProcessInfo.processInfo.environment
        for name in ["manual", "device-code", "print-token", "json"] {
            variables[Environment.variable(for: name)] = "0"
        }
        return variables
    }

    private func pending(_ cause: any Error) -> AuthenticationError {
        AuthenticationError(
            .interactionRequired,
            "A sign-in for \(command.url.printable) waits in the browser. Finish it there, and try again.",
            underlyingError: cause
        )
    }
}
