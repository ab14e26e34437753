// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import IdentityClient
import LoopbackHTTP
import OAuthWire
import SystemSupport

/// Asks an agent: one connection, one request, one answer.
struct AgentClient: Sendable {
    /// The socket, and the option or variable that names it.
    let socket: Given

    private static let queue = QueueExecutor("identityctl.agent-client")

    /// Sends a request and waits for the answer.
    ///
    /// - Throws: The error in the answer, `.cache` with `agent_unavailable` if no agent answers, `CancellationError`.
    func ask(_ request: AgentRequest, within limit: Duration = .seconds(5)) async throws -> JSONObject {
        let (socket, line) = (socket, request.line)
        let answer = try await Self.queue.runUnlessCancelled {
            try Self.exchange(line, over: socket, within: limit)
        }
        if let error = AgentAnswer.error(in: answer) { throw error }
        return answer
    }

    private static func exchange(_ line: [UInt8], over socket: Given, within limit: Duration) throws -> JSONObject {
        let deadline = ContinuousClock.now + limit
        guard socket.text.hasPrefix("/") else { throw socket.error("the path of a socket begins with /.") }
        guard let connection = AgentSocket.connected(to: socket.text, seconds: Int(clamping: limit.wholeSeconds)) else {
            let number = errno
            let reason = unsafe String(cString: strerror(number))
            throw AuthenticationError.agent(
                "unavailable",
                """
                No agent answers at \(socket.text.printable) (\(socket.origin)): \(reason). \(advice(number, on: socket.text)) Or do \
                without it (unset IDENTITYCTL_AGENT).
                """
            )
        }
        var rest = line[...]
        while !rest.isEmpty {
            switch connection.send(rest) {
            case .bytes(let count): rest = rest.dropFirst(count)
            case .wouldBlock: throw silence(socket, limit)
            case .ended: throw end(socket)
            }
        }
        var answer: [UInt8] = []
        var scanner = ObjectScanner()
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        while answer.count <= AgentAnswer.maximumBytes, ContinuousClock.now < deadline {
            switch connection.receive(into: &buffer) {
            case .bytes(let count): answer += buffer[..<count]
            case .wouldBlock: throw silence(socket, limit)
            case .ended: throw end(socket)
            }
            guard case .complete(let end) = scanner.scan(answer) else { continue }
            guard let object = try? JSONObject(parsing: Array(answer[..<end])) else { break }
            return object
        }
        guard ContinuousClock.now < deadline else { throw silence(socket, limit) }
        throw unavailable(socket, "sent an answer that cannot be read. Perhaps another program listens there.")
    }

    /// An agent removes its sockets at its end, and a killed one leaves both. The forwarded one of `sshd` stands alone.
    private static func advice(_ number: Int32, on socket: String) -> String {
        guard number == ECONNREFUSED, !SystemCall.exists(AgentSocket.controlPath(socket)) else {
            return "Start it ('identityctl agent')."
        }
        return """
            If it is another machine's, the connection that brought it has ended, or a later one took its path: connect again, each \
            machine with a path of its own. If it is this machine's, start it ('identityctl agent').
            """
    }

    private static func silence(_ socket: Given, _ limit: Duration) -> AuthenticationError {
        unavailable(
            socket,
            "did not answer within \(limit.wholeSeconds) s. Its machine may be asleep; look there: identityctl agent status"
        )
    }

    private static func end(_ socket: Given) -> AuthenticationError {
        unavailable(
            socket,
            "closed the connection without an answer. It may have ended; look where it runs: identityctl agent status"
        )
    }

    private static func unavailable(_ socket: Given, _ reason: String) -> AuthenticationError {
        .agent("unavailable", "The agent at \(socket.text.printable) (\(socket.origin)) \(reason)")
    }
}

extension TokenCommand {
    /// Prints the token that an agent gives.
    func run(in session: Session, through socket: Given, _ wanted: WantedToken) async throws {
        let request = try AgentRequest.Token(provider, wanted, session.environment, for: "token", socket)
        let answer = try await AgentClient(socket: socket).ask(.token(request), within: wanted.timeout)
        let token = try request.token(in: answer)
        session.console.warn(ofShortLife: token.left(at: .now), below: .seconds(request.minimumValidity))
        guard session.isJSON else { return try session.result(token.text + "\n") }
        var report = answer.object("report") ?? JSONObject()
        report["accessToken"] = answer.string("access_token").map { .string($0) }
        if request.wantsIDToken { report["idToken"] = .string(token.text) }
        try session.result(report.line + "\n")
    }
}

extension AgentRequest.Token {
    /// Creates the request that the options of a command describe.
    ///
    /// - Throws: `UsageError`, also for options that the agent's profile decides.
    init(
        _ provider: ProviderOptions,
        _ wanted: WantedToken,
        _ environment: Environment,
        for command: String,
        _ socket: Given
    ) throws {
        if let option = provider.keptFromAgents {
            throw UsageError(
                """
                --\(option): \(socket.origin) is set, and the agent's profile decides this. Leave the option out, or unset \
                \(socket.origin).
                """
            )
        }
        self.init()
        profile = try environment.given("profile", provider.profile)?.text
        if profile == ProfileName.none { profile = nil }
        clientID = try environment.given("client-id", provider.clientID)?.text
        issuer =
            try environment.given("issuer", provider.issuer)?.text
            ?? environment.given("authority", provider.authority)?.text
        user = wanted.account?.text
        scopes = wanted.scopes
        claims = wanted.claims
        minimumValidity = Int(wanted.minimumValidity.wholeSeconds)
        forcesRefresh = wanted.forcesRefresh
        refusedToken = wanted.refusedToken
        wantsIDToken = wanted.isIDToken
        usesCacheOnly = wanted.usesCacheOnly
        allowsExpiredToken = wanted.allowsExpiredToken
        hint = "identityctl \(command)"
    }
}

extension ProviderOptions {
    /// The first option of the command line that the agent's profile decides, by its name without dashes; `nil` if there is
    /// none.
    fileprivate var keptFromAgents: String? {
        Setting.ofProvider.first { $0.traits.contains(.isTheAgents) && OptionGroups(provider: self).isGiven($0) }?
            .name
    }
}
