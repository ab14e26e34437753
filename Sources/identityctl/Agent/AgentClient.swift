// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import IdentityClient
import OAuthWire

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
                No agent answers at \(socket.text.printable) (\(socket.origin)): \(reason). Start it ('identityctl agent'), or \
                do without it (unset IDENTITYCTL_AGENT).
                """
            )
        }
        var rest = line[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes {
                unsafe send(connection.raw, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count > 0 { rest = rest.dropFirst(count) } else if errno != EINTR { throw silence(socket) }
        }
        var answer: [UInt8] = []
        var scanner = ObjectScanner()
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        while answer.count <= AgentAnswer.maximumBytes, ContinuousClock.now < deadline {
            let count = unsafe recv(connection.raw, &buffer, buffer.count, 0)
            guard count > 0 else {
                if count < 0, errno == EINTR { continue }
                break
            }
            answer += buffer[..<count]
            guard case .complete(let end) = scanner.scan(answer) else { continue }
            guard let object = try? JSONObject(parsing: Array(answer[..<end])) else { break }
            return object
        }
        throw silence(socket)
    }

    private static func silence(_ socket: Given) -> AuthenticationError {
        .agent(
            "unavailable",
            """
            The agent at \(socket.text.printable) (\(socket.origin)) did not answer. Look at it where it runs: \
            identityctl agent status
            """
        )
    }
}

extension TokenCommand {
    /// Prints the token that an agent gives.
    func run(in session: Session, through socket: Given) async throws {
        let environment = session.environment
        for option in ProviderOptions.named where !["client-id", "issuer", "authority"].contains(option.name) {
            guard option.value(provider) != nil else { continue }
            throw UsageError(
                """
                --\(option.name): \(socket.origin) is set, and the agent's profile decides this. Leave the option out, or unset \
                \(socket.origin).
                """
            )
        }
        var request = AgentRequest.Token()
        request.profile = try environment.given("profile", nil)?.text
        request.clientID = try environment.given("client-id", provider.clientID)?.text
        request.issuer =
            try environment.given("issuer", provider.issuer)?.text
            ?? environment.given("authority", provider.authority)?.text
        request.user = try environment.given("account", account.account)?.text
        request.scopes = try token.scopes(environment)
        request.claims = try token.claims(environment)
        let validity = try environment.given("min-validity", minValidity)?.seconds(from: 0) ?? .zero
        request.minimumValidity = Int(validity.components.seconds)
        request.forcesRefresh = try environment.isOn("force-refresh", forceRefresh)
        request.wantsIDToken = try environment.isOn("id-token", idToken)
        request.hint = "identityctl token"
        let answer = try await AgentClient(socket: socket).ask(.token(request), within: try wait())
        try session.write(answer, wantsIDToken: request.wantsIDToken, atLeast: request.minimumValidity)
    }
}

extension Session {
    /// Writes the token in an agent's answer, plainly or as JSON.
    fileprivate func write(_ answer: JSONObject, wantsIDToken: Bool, atLeast seconds: Int) throws {
        guard let token = answer.string("access_token"), let end = answer.integer("expires_at"),
            !wantsIDToken || answer.string("id_token") != nil
        else { throw AuthenticationError.agent("unavailable", "The agent's answer has no token.") }
        let wantedEnd = wantsIDToken ? answer.integer("id_token_expires_at") ?? end : end
        let left = wantedEnd - Int(Date.now.timeIntervalSince1970)
        if left < seconds {
            console.line("Warning: the token is good for \(left) s only. No longer one could be had.")
        }
        let idToken = wantsIDToken ? answer.string("id_token") : nil
        guard isJSON else { return try result((idToken ?? token) + "\n") }
        var report = answer.object("report") ?? JSONObject()
        report["accessToken"] = .string(token)
        if let idToken { report["idToken"] = .string(idToken) }
        try result(report.line + "\n")
    }
}
