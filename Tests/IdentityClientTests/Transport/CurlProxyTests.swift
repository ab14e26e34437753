// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import IdentityClient
import Testing

@Suite(.timeLimit(.minutes(1))) struct CurlProxyTests {
    @Test func thisComputerIsNeverReachedThroughAProxy() async throws {
        await #expect(processExitsWith: .success) {
            let proxy = try ScriptedServer(answering: "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
            let server = try ScriptedServer(answering: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            for name in ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] {
                unsafe setenv(name, "http://127.0.0.1:\(proxy.port)", 1)
            }
            for host in ["127.0.0.1", "localhost"] {
                let request = HTTPRequest(method: .get, scheme: "http", authority: "\(host):\(server.port)", path: "/")
                let (response, _) = try await CurlTransport().send(request, body: nil)
                #expect(response.status == .ok)
            }
            #expect(proxy.connections == 0)
        }
    }

    @Test func otherHostsAreReachedThroughTheProxyAndItsRefusalIsSaid() async throws {
        await #expect(processExitsWith: .success) {
            let proxy = try ScriptedServer(answering: "HTTP/1.1 407 Who\r\nContent-Length: 0\r\n\r\n")
            unsafe setenv("https_proxy", "http://127.0.0.1:\(proxy.port)", 1)
            var request = HTTPRequest(method: .post, scheme: "https", authority: "nope.invalid", path: "/token")
            request.headerFields[.authorization] = "Bearer secret"

            let error = try await CurlTransport().failure(request, body: [1])

            #expect(error?.code == .proxyFailed)
            #expect(error?.message.contains("407") == true)
            #expect(proxy.requests.first?.line == "CONNECT nope.invalid:443 HTTP/1.1")
            #expect(proxy.requests.first?.values("authorization") == [])
        }
    }

    @Test func aProxyThatDoesNotAnswerIsSaid() async throws {
        await #expect(processExitsWith: .success) {
            let proxy = try ScriptedServer(answering: "")
            unsafe setenv("https_proxy", "http://127.0.0.1:\(proxy.port)", 1)
            proxy.close()
            let request = HTTPRequest(method: .get, scheme: "https", authority: "nope.invalid", path: "/")

            #expect(try await CurlTransport().failure(request)?.code == .proxyFailed)
        }
    }
}
