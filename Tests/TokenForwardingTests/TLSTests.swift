// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityTestSupport
import LoopbackHTTP
import SystemSupport
import Testing

@testable import TokenForwarding

/// The forwarder's use of libcurl: TLS, and a proxy's tunnel.
@Suite(.timeLimit(.minutes(1)), .enabled(if: CertificateAuthority.isAvailable)) struct TLSTests {
    /// Answers with the files of its directory, each of which is a whole answer.
    private func serve(_ host: String, _ body: String) async throws -> (CertificateAuthority, Process, UInt16) {
        let authority = try await CertificateAuthority.make()
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
        try Data(answer.utf8).write(to: authority.directory.appendingPathComponent("answer"))
        let (process, port) = try await authority.server(for: host, "-HTTP")
        return (authority, process, port)
    }

    /// TLS holds bytes back that its socket does not show any more. All of them reach the client.
    @Test(arguments: [5, 5 << 20]) func passesAnAnswerOverTLS(size: Int) async throws {
        let body = String(repeating: "a", count: size - 1) + "z"
        let (authority, server, port) = try await serve("localhost", body)
        defer { server.terminate() }
        let forwarder = try RunningForwarder(to: "localhost:\(port)", scheme: "https") {
            $0.certificateAuthorities = authority.certificate
            $0.proxy = ""
        }
        let answer = try await exchange(forwarder.head("GET /answer", "Connection: close\r\n"), port: forwarder.port)
        #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n") && answer.hasSuffix("\r\n\r\n\(body)"))
    }

    @Test func sendsNothingToAServerThatItDoesNotTrust() async throws {
        let (_, server, port) = try await serve("localhost", "x")
        let other = try await CertificateAuthority.make()
        defer { server.terminate() }
        let forwarder = try RunningForwarder(to: "localhost:\(port)", scheme: "https") {
            $0.certificateAuthorities = other.certificate
            $0.proxy = ""
        }
        let answer = try await exchange(forwarder.head("GET /answer"), port: forwarder.port)
        #expect(answer.hasPrefix("HTTP/1.1 502 upstream-unreachable\r\n") && answer.contains("certificate"))
    }

    @Test func goesThroughAProxysTunnel() async throws {
        let (authority, server, port) = try await serve("api.example.test", "hello")
        defer { server.terminate() }
        let asked = Box("")
        let proxy = try Upstream { (connection: Upstream.Connection) in
            asked.change { $0 = connection.readHead() ?? "" }
            guard let server = try? Upstream.Connection(to: port) else { return }
            connection.send("HTTP/1.1 200 OK\r\nX-Long: \(String(repeating: "a", count: 5000))\r\n\r\n")
            try? DetachedThread.start { server.pass(to: connection) }
            connection.pass(to: server)
        }
        let forwarder = try RunningForwarder(to: "api.example.test", scheme: "https") {
            $0.certificateAuthorities = authority.certificate
            $0.proxy = "http://127.0.0.1:\(proxy.port)"
        }
        let answer = try await exchange(forwarder.head("GET /answer", "Connection: close\r\n"), port: forwarder.port)
        #expect(answer.hasSuffix("\r\n\r\nhello"))
        #expect(asked.value.hasPrefix("CONNECT api.example.test:443 HTTP/1.1\r\n") && !asked.value.contains("T1"))
    }

    @Test func saysThatTheProxyRefuses() async throws {
        let proxy = try Upstream { _ in "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n" }
        let forwarder = try RunningForwarder(to: "api.example.test", scheme: "https") {
            $0.proxy = "http://127.0.0.1:\(proxy.port)"
        }
        let answer = try await exchange(forwarder.head("GET /"), port: forwarder.port)
        #expect(answer.hasPrefix("HTTP/1.1 502 upstream-unreachable\r\n") && answer.contains("407"))
    }
}
