// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityTestSupport
import LoopbackHTTP
import Testing

@testable import IdentityClient

@Suite(.timeLimit(.minutes(1))) struct LoopbackRedirectReceiverTests {
    private func start(
        _ redirectURI: RedirectURI = .loopback,
        _ mode: ResponseMode = .query,
        limits: LoopbackServer.Limits = .init()
    ) async throws -> (any RedirectListener, port: UInt16) {
        let listener = try await LoopbackRedirectReceiver(limits: limits).start(for: redirectURI, responseMode: mode)
        return (listener, UInt16(try #require(listener.redirectURI.port)))
    }

    private func get(_ target: String, _ port: UInt16, host: String? = nil, method: String = "GET") -> String {
        "\(method) \(target) HTTP/1.1\r\nHost: \(host ?? "localhost:\(port)")\r\n\r\n"
    }

    private func post(_ body: String, _ port: UInt16) -> String {
        """
        POST / HTTP/1.1\r\nHost: localhost:\(port)\r\nContent-Type: application/x-www-form-urlencoded\r\n\
        Content-Length: \(body.utf8.count)\r\n\r\n\(body)
        """
    }

    private func visit(_ target: String, _ port: UInt16, cookies bytes: Int) async throws -> String {
        let cookies = "\r\nCookie: session=\(String(repeating: "c", count: bytes))\r\n\r\n"
        return try await exchange(get(target, port).replacing("\r\n\r\n", with: cookies), port: port)
    }

    @Test func namesTheAddressExactly() async throws {
        var forms: [(RedirectURI, String)] = [
            (.loopback, "http://localhost:PORT"),
            (try .loopback(host: .localhost, path: "/"), "http://localhost:PORT/"),
            (try .loopback(host: .ipv4, path: "/a/B"), "http://127.0.0.1:PORT/a/B"),
        ]
        if machineHasIPv6 { forms.append((try .loopback(host: .ipv6), "http://[::1]:PORT")) }
        for (redirectURI, text) in forms {
            let (listener, port) = try await start(redirectURI)
            #expect(listener.redirectURI.absoluteString == text.replacing("PORT", with: "\(port)"))
            await listener.close()
        }
    }

    @Test func takesTheRedirectAfterAnythingElse() async throws {
        var limits = LoopbackServer.Limits()
        limits.requestDeadline = .milliseconds(300)
        let (listener, port) = try await start(limits: limits)
        let preconnected = try RawConnection(port: port)
        let slow = try RawConnection(port: port)
        slow.send("GET /?code=slow HTTP/1.1\r\nHost: loc")
        let wrong = [
            (get("/favicon.ico", port), "404"),
            (get("/?code=x", port, host: "evil.example:\(port)"), "400"),
            (get("/other?code=x", port), "404"),
            (get("/?code=x", port, method: "HEAD"), "405"),
            (get("/?code=x", port, method: "OPTIONS"), "405"),
            (post("code=x", port), "405"),
            (get("/?done", port), "404"),
            (get("/?code=" + String(repeating: "x", count: 9000), port), "414"),
            (get("/", port, method: "POST").replacing("\r\n\r\n", with: "\r\nContent-Length: 100000\r\n\r\n"), "413"),
        ]
        for (request, status) in wrong {
            let answer = try await exchange(request, port: port)
            #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(request.prefix(80))")
            #expect(!answer.contains("code=x"))
            #expect(answer.contains("Nothing to see here") != request.hasPrefix("HEAD"), "\(request.prefix(80))")
        }
        let browser = try RawConnection(port: port)
        browser.send(get("/?code=right&state=s", port))
        let redirect = try await listener.receive()
        #expect(redirect.url.absoluteString == "http://localhost:\(port)?code=right&state=s")
        #expect(try await slow.receive().hasPrefix("HTTP/1.1 408 "))
        #expect(try await preconnected.receive().isEmpty)
        await listener.answer(redirect, with: RedirectPage(outcome: .refused))
        #expect(try await browser.receive().hasPrefix("HTTP/1.1 400 "))
        await listener.close()
    }

    /// A browser sends the cookies of all ports of `localhost`; a developer's browser has many.
    @Test func takesARedirectWithManyCookies() async throws {
        let (listener, port) = try await start()
        let refused = try await visit("/?code=x&state=s", port, cookies: 64 * 1024)
        #expect(refused.hasPrefix("HTTP/1.1 431 ") && refused.contains("Content-Type: text/html; charset=utf-8\r\n"))
        #expect(refused.contains("Nothing to see here") && refused.contains("Content-Security-Policy: "))
        #expect(!refused.contains("ccc") && !refused.contains("code=x"))
        async let answer = visit("/?code=right&state=s", port, cookies: 32 * 1024)
        let redirect = try await listener.receive()
        #expect(redirect.url.query() == "code=right&state=s")
        await listener.answer(redirect, with: RedirectPage(outcome: .succeeded))
        #expect(try await answer.hasPrefix("HTTP/1.1 303 "))
        #expect(try await visit("/?done", port, cookies: 32 * 1024).contains("Signed in"))
        await listener.close()
    }

    @Test func takesTheRightOneAfterAHundredWrongOnes() async throws {
        let (listener, port) = try await start()
        for number in 0..<100 {
            async let answer = exchange(get("/?code=a&state=\(number)", port), port: port)
            let redirect = try await listener.receive()
            #expect(redirect.url.query()?.hasSuffix("state=\(number)") == true)
            await listener.answer(redirect, with: RedirectPage(outcome: .refused))
            #expect(try await answer.hasPrefix("HTTP/1.1 400 "))
        }
        async let answer = exchange(get("/?code=a&state=right", port), port: port)
        let redirect = try await listener.receive()
        await listener.answer(redirect, with: RedirectPage(outcome: .succeeded))
        #expect(try await answer.hasPrefix("HTTP/1.1 303 "))
        _ = try await exchange(get("/?done", port), port: port)
        await listener.close()
    }

    @Test(.enabled(if: machineHasIPv6)) func isReachedOverIPv6() async throws {
        for redirectURI in [RedirectURI.loopback, try .loopback(host: .ipv6)] {
            let (listener, port) = try await start(redirectURI)
            async let answer = exchange(get("/?code=a", port, host: "[::1]:\(port)"), port: port, overIPv6: true)
            let redirect = try await listener.receive()
            await listener.answer(redirect, with: RedirectPage(outcome: .refused))
            #expect(try await answer.hasPrefix("HTTP/1.1 400 "))
            await listener.close()
        }
    }

    /// The redirect to the page, and the page itself. The listener waits for its delivery before it ends.
    private func pageElsewhere(
        _ browser: RawConnection,
        _ listener: any RedirectListener,
        _ port: UInt16
    ) async throws -> (answer: String, page: String) {
        let answer = try await browser.receive()
        #expect(answer.hasPrefix("HTTP/1.1 303 See Other\r\n") && answer.contains("\r\nLocation: /back?done\r\n"))
        async let page = exchange(get("/back?done", port), port: port)
        await listener.close()
        return (answer, try await page)
    }

    @Test func showsThePageWhereTheAddressHasNoCode() async throws {
        let (listener, port) = try await start(try .loopback(path: "/back"))
        let browser = try RawConnection(port: port)
        browser.send(get("/back?code=c0de&state=st4te", port))
        let redirect = try await listener.receive()
        await listener.answer(
            redirect,
            with: RedirectPage(outcome: .succeeded, message: "Hello <script>alert(1)</script>")
        )
        let (answer, text) = try await pageElsewhere(browser, listener, port)
        #expect(text.hasPrefix("HTTP/1.1 200 OK\r\n") && text.contains("Hello &lt;script&gt;alert(1)&lt;/script&gt;"))
        for secret in ["c0de", "st4te", "<script"] { #expect(!(answer + text).contains(secret)) }
    }

    @Test func answersAFormWithThePage() async throws {
        let (listener, port) = try await start(.loopback, .formPost)
        #expect(try await exchange(get("/?state=x", port), port: port).hasPrefix("HTTP/1.1 400 "))
        #expect(try await exchange(get("/?done", port), port: port).hasPrefix("HTTP/1.1 404 "))
        let probed = try await exchange(get("/?code=a", port, method: "HEAD"), port: port)
        #expect(probed.hasPrefix("HTTP/1.1 405 ") && probed.contains("\r\nAllow: POST, GET\r\n"))
        let browser = try RawConnection(port: port)
        browser.send(post("code=a%2Bb&state=x&state=y", port))
        let redirect = try await listener.receive()
        #expect(redirect.url.query(percentEncoded: true) == "code=a%2Bb&state=x&state=y")
        await listener.answer(redirect, with: RedirectPage(outcome: .failed, message: "No \"luck\" & 'no' joy"))
        await listener.close()
        let answer = try await browser.receive()
        #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n"))
        #expect(answer.contains("No &quot;luck&quot; &amp; &#39;no&#39; joy"))
    }

    /// Some providers ignore the requested response mode. The code still disappears from the address bar.
    @Test func showsThePageElsewhereWhenTheAnswerCameInTheQuery() async throws {
        let (listener, port) = try await start(try .loopback(path: "/back"), .formPost)
        let browser = try RawConnection(port: port)
        browser.send(get("/back?code=c0de&state=st4te", port))
        let redirect = try await listener.receive()
        #expect(redirect.url.query() == "code=c0de&state=st4te")
        await listener.answer(redirect, with: RedirectPage(outcome: .succeeded))
        let (answer, text) = try await pageElsewhere(browser, listener, port)
        #expect(text.hasPrefix("HTTP/1.1 200 OK\r\n") && text.contains("Signed in"))
        #expect(!(answer + text).contains("c0de"))
    }

    @Test func takesNoFormWhereTheQueryWasAskedFor() async throws {
        let (listener, port) = try await start()
        let answer = try await exchange(post("code=a", port), port: port)
        #expect(answer.hasPrefix("HTTP/1.1 405 ") && answer.contains("\r\nAllow: GET\r\n"))
        await listener.close()
    }

    @Test func tellsAFloodToComeBack() async throws {
        var limits = LoopbackServer.Limits()
        limits.maximumConnections = 64
        let (listener, port) = try await start(limits: limits)
        let browsers = try (0..<17).map { number in
            let browser = try RawConnection(port: port)
            browser.send(get("/?code=\(number)", port))
            return browser
        }
        try await withThrowingTaskGroup { group in
            for browser in browsers { group.addTask { try await browser.receive() } }
            #expect(try await group.next()?.hasPrefix("HTTP/1.1 503 ") == true)
            await listener.close()
            for try await answer in group { #expect(answer.contains("no longer waits")) }
        }
    }
}
