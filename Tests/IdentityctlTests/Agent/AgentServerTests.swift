// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityClient
import IdentityTestSupport
import LoopbackHTTP
import SystemSupport
import Testing

@testable import identityctl

/// The socket, with callers that misbehave.
@Suite struct AgentServerTests {
    private let temporary: TemporaryDirectory
    private let path: String

    init() throws {
        temporary = try TemporaryDirectory()
        path = "\(temporary.path)/a.sock"
    }

    /// A server that answers with what it was sent, or with the reason of a refusal.
    private func server(_ limits: AgentServer.Limits = AgentServer.Limits()) throws -> AgentServer {
        try AgentServer(listeners: [UnixSocket.listen(at: path)], limits: limits) {
            Array("refused: \($0)".utf8)
        } respond: {
            $0.bytes
        }
    }

    @Test(.timeLimit(.minutes(1))) func answersAnObjectWithAndWithoutALineEnd() async throws {
        let server = try server()
        for (sent, isShut) in [
            ("{\"a\":1}\n", false), ("{\"a\":1}", false), ("{\"a\":1}", true), ("{\"a\":1}\u{0}{", false),
        ] {
            let client = try PlainAgentClient(path)
            client.send(sent)
            if isShut { client.shutDown() }
            #expect(try await client.answer() == "{\"a\":1}")
        }
        server.close()
    }

    @Test(.timeLimit(.minutes(1))) func refusesALongRequest() async throws {
        let server = try server()
        let client = try PlainAgentClient(path)
        client.send("{\"a\":\"" + String(repeating: "x", count: 70_000))
        #expect(try await client.answer() == "refused: the request is longer than 64 KiB")
        server.close()
    }

    /// `oidc-token` sends a key in base64, then an encrypted request, and shows a plain error only as the second answer.
    @Test(.timeLimit(.minutes(1))) func refusesTheEncryptedFormSoThatItsClientsUnderstand() async throws {
        let server = try server(AgentServer.Limits(deadline: .seconds(10)))
        let client = try PlainAgentClient(path)
        client.send("nGyS0ySJmoNmjJHmqJoLbLBD9Qlz=")
        let refusal = "refused: this agent takes plain JSON objects only"
        #expect(try await client.answer(bytes: refusal.utf8.count) == refusal)
        client.send("3:bm9uY2U=:c2VjcmV0")
        #expect(try await client.answer() == refusal)
        server.close()
    }

    @Test(.timeLimit(.minutes(1))) func waitsForTheRestOfARequestForAWhile() async throws {
        let server = try server(AgentServer.Limits(deadline: .milliseconds(50)))
        let silent = try PlainAgentClient(path)
        #expect(try await silent.answer() == "")
        let half = try PlainAgentClient(path)
        half.send("{\"a\":")
        #expect(try await half.answer() == "refused: the request did not end in time")
        server.close()
    }

    /// Idle callers hold their places no longer than the deadline, and the others are answered after them.
    @Test(.timeLimit(.minutes(1))) func answersAfterManyIdleCallers() async throws {
        let server = try server(AgentServer.Limits(connections: 8, deadline: .milliseconds(100)))
        let idle = try (0..<100).map { _ in try PlainAgentClient(path) }
        let clients = try (0..<20).map { _ in try PlainAgentClient(path) }
        for client in clients { client.send("{}") }
        for client in clients { #expect(try await client.answer() == "{}") }
        withExtendedLifetime(idle) {}
        server.close()
    }

    /// The first socket may be forwarded to a machine whose root holds every place. The second answers all the same.
    @Test(.timeLimit(.minutes(1))) func keepsPlacesForTheSocketOfControl() async throws {
        let control = path + ".control"
        let listeners = [try UnixSocket.listen(at: path), try UnixSocket.listen(at: control)]
        let limits = AgentServer.Limits(connections: 4, controlConnections: 2, deadline: .seconds(50))
        let answered = Promise<Void>()
        let server = try AgentServer(listeners: listeners, limits: limits) {
            Array($0.utf8)
        } respond: { arrival in
            if arrival.listener == 0 { try? await answered.value() }
            return Array("\(arrival.listener)".utf8)
        }
        let far = try (0..<20).map { _ in try PlainAgentClient(path) }
        for client in far { client.send("{}") }
        for _ in 0..<5 {
            let near = try PlainAgentClient(control)
            near.send("{}")
            #expect(try await near.answer() == "1")
        }
        answered.finish(.success(()))
        for client in far { #expect(try await client.answer() == "0") }
        server.close()
    }
}
