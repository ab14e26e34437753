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
        try await ask(request.line, within: limit)
    }

    /// The same for a request of another program that answers as an agent does.
    func ask(_ line: [UInt8], within limit: Duration = .seconds(5)) async throws -> JSONObject {
        let socket = socket
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

// An agent of another machine.
extension AgentClient {
    /// Whether the agent runs on another machine, and its socket is forwarded to here: the one for control is missing.
    static func isForwarded(_ socket: Given) async -> Bool {
        guard SystemCall.exists(socket.text), !SystemCall.exists(AgentSocket.controlPath(socket.text)) else {
            return false
        }
        // systemd listens for an agent of this machine, and starts it at the first request. The answer is of no interest.
        _ = try? await AgentClient(socket: socket).ask(.status)
        return !SystemCall.exists(AgentSocket.controlPath(socket.text))
    }

    /// - Throws: `UsageError` if `IDENTITYCTL_AGENT` names an agent of another machine, which has the sign-ins.
    static func refuseSignInsElsewhere(_ variables: Variables) async throws {
        guard let socket = variables.agent, await isForwarded(socket) else { return }
        throw UsageError(
            """
            The agent at \(socket.text.printable) (\(socket.origin)) is another machine's, where the sign-ins are. Run this \
            command there, or unset \(socket.origin) for the sign-ins of this machine.
            """
        )
    }
}
