// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import IdentityTestSupport
import Testing

@testable import IdentityClient

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

    @Test func theProxyThatTheProgramNamesCountsInPlaceOfTheEnvironments() async throws {
        await #expect(processExitsWith: .success) {
            let refusal = "HTTP/1.1 407 Who\r\nContent-Length: 0\r\n\r\n"
            let (named, other) = (try ScriptedServer(answering: refusal), try ScriptedServer(answering: refusal))
            unsafe setenv("https_proxy", "http://127.0.0.1:\(other.port)", 1)
            let request = HTTPRequest(method: .get, scheme: "https", authority: "nope.invalid", path: "/")

            let error = try await CurlTransport(proxy: "http://me:hidden@127.0.0.1:\(named.port)").failure(request)

            #expect(error?.code == .proxyFailed)
            #expect(named.requests.first?.line == "CONNECT nope.invalid:443 HTTP/1.1")
            #expect(named.requests.first?.values("proxy-authorization") == ["Basic bWU6aGlkZGVu"])

            let direct = try await CurlTransport(connectTimeout: .milliseconds(500), proxy: "").failure(request)
            #expect(direct != nil && direct?.code != .proxyFailed)
            #expect(other.connections == 0)
        }
    }

    @Test func thisComputerIsNotReachedThroughTheProxyThatTheProgramNames() async throws {
        let proxy = try ScriptedServer(answering: "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
        let server = try ScriptedServer(answering: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        let transport = CurlTransport(proxy: "http://127.0.0.1:\(proxy.port)")
        let (response, _) = try await transport.send(.get(server), body: nil)
        #expect(response.status == .ok && proxy.connections == 0)
    }

    @Test(arguments: [
        ("ftp://me:hidden@127.0.0.1:1", AuthenticationError.Code.proxyFailed),
        ("http://me:hidden@127.0.0.1:1\0", .invalidArgument), ("http://me:hid den@127.0.0.1:1", .invalidArgument),
    ])
    func aNamedProxyThatCannotBeUsedIsSaidWithoutItsPassword(
        _ proxy: String,
        _ code: AuthenticationError.Code
    ) async throws {
        let transport = CurlTransport(proxy: proxy)
        let request = HTTPRequest(method: .get, scheme: "https", authority: "nope.invalid", path: "/")
        let error = try #require(try await transport.failure(request))
        #expect(error.code == code && !error.message.contains("https_proxy"))
        #expect(error.message.contains("Check its address, '127.0.0.1:1'") == (code == .proxyFailed))
        var dumped = ""
        dump(transport, to: &dumped)
        dumped += "\(transport)" + everything(in: error)
        #expect(!dumped.contains("hid"))
    }

    /// libcurl's message repeats the proxy's address if the address is malformed or its scheme unknown.
    @Test(arguments: ["http://user:p#hidden@127.0.0.1:1", "ftp://user:hidden@127.0.0.1:1"])
    func thePasswordOfAProxyThatCannotBeUsedIsNotSaid(_ proxy: String) async throws {
        await #expect(processExitsWith: .success) { [proxy = proxy as String] in
            unsafe setenv("https_proxy", proxy, 1)
            let request = HTTPRequest(method: .get, scheme: "https", authority: "nope.invalid", path: "/")

            let error = try #require(try await CurlTransport().failure(request))

            #expect(error.code == .proxyFailed)
            #expect(!everything(in: error).contains("hidden"))
        }
    }

    @Test(arguments: [4, 5, 7])
    func whateverTheCodeThePasswordIsCutAway(_ code: Int) {
        let failure = CurlFailure(code: code, reason: "Unsupported proxy 'https://user:hidden@127.0.0.1:1', it's old")
        let settings = CurlSettings(timeoutMilliseconds: 1, connectTimeoutMilliseconds: 1, maximumResponseBytes: 1)

        let error = failure.error(host: "nope.invalid", place: "nope.invalid", settings: settings)

        #expect(error.code == .proxyFailed)
        #expect(failure.description == "libcurl \(code): Unsupported proxy ")
        #expect(!everything(in: error).contains("hidden"))
    }

    @Test(arguments: [
        (5, "Could not resolve proxy: nope", "no_proxy"),
        (35, "wrong version number", "a.test:80 does not answer in TLS"),
        (35, "An unexpected TLS packet was received.", "Check the port"),
        (
            35, "SSL_ERROR_SYSCALL",
            "to a.test:80 (SSL_ERROR_SYSCALL). Check the port, and whether the server answers in TLS"
        ),
        (60, "self-signed", "name its file in SSL_CERT_FILE (identityctl: by --ca-file"),
    ])
    func saysWhereToLook(_ code: Int, _ reason: String, _ words: String) {
        let settings = CurlSettings(timeoutMilliseconds: 1, connectTimeoutMilliseconds: 1, maximumResponseBytes: 1)
        let failure = CurlFailure(code: code, reason: reason)
        let error = failure.error(host: "a.test", place: "a.test:80", settings: settings)
        #expect(error.message.contains(words), "\(error.message)")
    }
}

/// The error's texts and its dump.
private func everything(in error: AuthenticationError) -> String {
    var text = "\(error) \(error.message)"
    dump(error, to: &text)
    return text
}
