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

    private typealias Source = (access: TokenAccess, scopes: Set<Scope>)

    private struct State {
        /// The source of the tokens, and the client that sends them; `nil` if another process may have signed in since.
        var source: Source?
        var client: AuthenticatedClient?
        /// The scopes that were granted beyond the usual ones, because the server demanded them.
        var demanded: Set<Scope> = []
        /// The token that was acquired last.
        var token: String?
    }

    /// Shows the page of a sign-in through the host.
    let offer: MCPOffer
    private let command: MCPCommand
    private let session: Session
    private let transport: MCPTransport
    private let state = Mutex(State())
    private let sources = SingleFlight<Set<Scope>, Source>()
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
        get async throws { try await source().access.account.id.rawValue }
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
        do {
            let client = try await client(signsIn: asks)
            let answer = try await client.stream(
                request,
                body: body.map { .json($0) },
                signingIn: !asks ? .never : returnsRefusal ? .exceptAfterRefusal : .always
            )
            guard answer.response.status == .unauthorized, !returnsRefusal else { return answer }
        } catch let error as AuthenticationError where .interactionRequired ~= error.code {
            forgetSource()
            throw error
        }
        let host = (request.authority ?? "").printable
        guard asks else {
            throw AuthenticationError(.loginRequired, "\(host) does not accept the tokens of this sign-in any more.")
        }
        // It would be the same after each further sign-in.
        try? command.turns(session.environment)?.decline()
        throw AuthenticationError(
            .configuration,
            "\(host) does not accept the tokens of a new sign-in either. Ask who runs it."
        )
    }

    private func client(signsIn: Bool) async throws -> AuthenticatedClient {
        if let client = state.withLock(\.client) { return client }
        let source = try await Asking.result(
            signsIn ? .atDesktop : .never,
            of: { try await self.source() },
            signingIn: { try await self.signIn(after: $0) }
        )
        let client = AuthenticatedClient(
            application: source.access.application,
            account: source.access.account,
            scopes: source.scopes,
            transport: transport,
            timeout: .seconds(60),
            place: source.access.place,
            acquire: { try await self.token($0) },
            signIn: { try await self.signIn(after: $0) },
            believesClaimedScopes: false,
            onWait: nil
        )
        state.withLock { $0.client = client }
        return client
    }

    private func source() async throws -> Source {
        let (source, demanded) = state.withLock { ($0.source, $0.demanded) }
        if let source { return source }
        return try await sources.run(demanded) { [self] in
            let new = try await command.access(demanding: demanded, session)
            state.withLock { $0.source = new }
            return new
        }
    }

    /// The next message looks whether another process has signed in.
    private func forgetSource() { state.withLock { ($0.source, $0.client) = (nil, nil) } }

    /// Acquires a token as the last sign-in has it, which may be another one than the client was made for.
    private func token(_ parameters: SilentParameters) async throws -> AuthenticationResult {
        let source = try await source()
        var parameters = parameters
        (parameters.scopes, parameters.account) = (source.scopes, source.access.account)
        let result = try await source.access.acquire(parameters)
        state.withLock { $0.token = result.accessToken }
        return result
    }

    private func signIn(after error: AuthenticationError) async throws {
        forgetSource()
        let environment = session.environment
        // Other demands than scopes are met by a command of the person's.
        guard error.claims == nil, error.challenge?.scopes.isEmpty != true,
            try Asking.ofBridge(environment, showsPages: offer.isPossible) == .atDesktop,
            let turns = try command.turns(environment)
        else { throw error }
        let demand = state.withLock { SignInDemand(error, besides: $0.demanded, of: $0.token) }
        try await signIns.run(demand) { [self] in
            try await offer.offering(turns) { try await self.signIn(demand, after: error, turns) }
        }
        state.withLock { state in
            (state.source, state.client) = (nil, nil)
            state.demanded.formUnion(demand.scopes)
        }
    }

    private func signIn(_ demand: SignInDemand, after error: AuthenticationError, _ turns: SignInTurn) async throws {
        let end = ContinuousClock.now + Self.patience
        for _ in 0..<3 {
            do {
                // Another bridge's sign-in is waited for.
                try await turns.take(within: max(.zero, end - .now)).end()
            } catch {
                throw error is CancellationError ? error : pending(turns, error)
            }
            guard case .needed = try await command.need(of: demand, session) else { return }
            if turns.isDeclined { throw failed(turns, error, SignInTurn.wasDeclined) }
            if turns.hasAskedLately { throw failed(turns, error, SignInTurn.hasAsked) }
            let isOffered = offer.isPossible
            guard try Asking.ofBridge(session.environment, showsPages: isOffered) == .atDesktop else { throw error }
            let options = command.options(demanding: demand.scopes)
            session.console.line(
                "A person has to sign in, which begins now. The same from a terminal: "
                    + command.login(demanding: demand.scopes, session.environment)
            )
            let outcome = try await DetachedProcess.run(
                "/proc/self/exe",
                arguments: ["identityctl", "mcp", command.url, "--sign-in"]
                    + (demand.refused.map { ["--refused=\($0)"] } ?? []) + (demand.isForMore ? ["--more"] : [])
                    + options.words,
                environment: DesktopSignIn.variables().merging(isOffered ? MCPOffer.variables(turns) : [:]) { $1 },
                timeout: max(.zero, end - .now)
            )
            switch outcome {
            case .exited(status: 0): continue
            case _ where isOffered && !offer.isPossible: continue  // the browser opens
            case .running: throw pending(turns, error)
            default: throw failed(turns, error, turns.isDeclined ? SignInTurn.wasDeclined : "")
            }
        }
        throw error
    }

    /// The error with the reason for which the last sign-in came to nothing, and what to do about that.
    private func failed(_ turns: SignInTurn, _ error: AuthenticationError, _ note: String = "") -> AuthenticationError {
        let course = turns.lastCourse()
        guard !course.advice.isEmpty else { return error.saying(error.code, [error.message, note].sentences) }
        return AuthenticationError(
            error.code,
            [course.text, note].sentences,
            challenge: error.challenge,
            underlyingError: SignInCourse.Advice(text: course.advice)
        )
    }

    private func pending(_ turns: SignInTurn, _ cause: any Error) -> AuthenticationError {
        let course = turns.lastCourse()
        let text =
            course.hasPage && course.text.isEmpty
            ? "waits in the browser. Finish it there, and try again."
            : ["goes on, and no page is open yet.", course.text, "Try again in a minute."].sentences
        return AuthenticationError(
            .interactionRequired,
            "A sign-in for \(command.url.printable) \(text)",
            underlyingError: cause
        )
    }
}

extension [String] {
    /// The texts that are not empty, as one.
    fileprivate var sentences: String { filter { !$0.isEmpty }.joined(separator: " ") }
}
