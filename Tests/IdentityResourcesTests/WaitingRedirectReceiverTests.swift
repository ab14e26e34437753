// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import LoopbackHTTP
import Synchronization
import Testing

@testable import IdentityResources

/// Several sign-ins at once, with one set of registered ports.
@Suite(.timeLimit(.minutes(1)))
struct WaitingRedirectReceiverTests {
    /// Two neighbouring ports that nothing else has, and what has them.
    private func taken() throws -> (ports: ClosedRange<UInt16>, servers: [LoopbackServer]) {
        for first in stride(from: UInt16(29_000), to: 32_000, by: 2) {
            guard let servers = try? [first, first + 1].map({ try server(on: $0) }) else { continue }
            return (first...(first + 1), servers)
        }
        throw AuthenticationError(.redirectUnavailable, "All ports are taken.")
    }

    private func server(on port: UInt16) throws -> LoopbackServer {
        try LoopbackServer.start(hosts: [.ipv4], port: port) { _ in .dropped }
    }

    @Test func waitsUntilAnotherSignInGivesItsPortBack() async throws {
        var (ports, servers) = try taken()
        let redirectURI = try RedirectURI.loopback(host: .ipv4, ports: ports, path: "/callback")
        let start = Task { try await WaitingRedirectReceiver().start(for: redirectURI, responseMode: .query) }
        servers.removeLast().close()
        let listener = try await start.value
        #expect(listener.redirectURI.absoluteString == "http://127.0.0.1:\(ports.upperBound)/callback")
        await listener.close()
        servers[0].close()
    }

    @Test func saysAfterTheWaitThatAllAreTaken() async throws {
        let (ports, servers) = try taken()
        let redirectURI = try RedirectURI.loopback(host: .ipv4, ports: ports)
        let receiver = WaitingRedirectReceiver(patience: .milliseconds(150))
        let error = await #expect(throws: AuthenticationError.self) {
            _ = try await receiver.start(for: redirectURI, responseMode: .query)
        }
        #expect(error?.code == .redirectUnavailable)
        for server in servers { server.close() }
    }

    @Test func takesAnyPortAfterTheWaitIfTheServerShould() async throws {
        let (ports, servers) = try taken()
        let told = Mutex<[String]>([])
        let receiver = WaitingRedirectReceiver(takesAnyPort: true, patience: .milliseconds(150), told: .zero) { text in
            told.withLock { $0.append(text) }
        }
        let redirectURI = try RedirectURI.loopback(host: .ipv4, ports: ports, path: "/callback")
        let listener = try await receiver.start(for: redirectURI, responseMode: .query)
        let address = listener.redirectURI.absoluteString
        #expect(address.hasPrefix("http://127.0.0.1:") && address.hasSuffix("/callback"))
        #expect(!ports.contains { address.contains(":\($0)/") })
        let texts = told.withLock(\.self)
        #expect(texts.count == 1 && texts[0].contains("\(ports.lowerBound) to \(ports.upperBound)"), "\(texts)")
        await listener.close()
        for server in servers { server.close() }
    }

    @Test func waitsNeitherForOnePortNorAfterACancellation() async throws {
        let (ports, servers) = try taken()
        let one = try RedirectURI.loopback(host: .ipv4, ports: ports.lowerBound...ports.lowerBound)
        await #expect(throws: AuthenticationError.self) {
            _ = try await WaitingRedirectReceiver().start(for: one, responseMode: .query)
        }
        let several = try RedirectURI.loopback(host: .ipv4, ports: ports)
        let start = Task { _ = try await WaitingRedirectReceiver().start(for: several, responseMode: .query) }
        start.cancel()
        await #expect(throws: CancellationError.self) { try await start.value }
        for server in servers { server.close() }
    }
}
