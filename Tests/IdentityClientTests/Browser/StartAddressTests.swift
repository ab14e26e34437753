// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import IdentityTestSupport
import LoopbackHTTP
import Testing

@testable import IdentityClient

@Suite(.timeLimit(.minutes(1))) struct StartAddressTests {
    private let target = "https://id.example/authorize?state=s&login_hint=alice"

    private let navigation = "Sec-Fetch-Site: none\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n"

    private func ask(
        _ start: StartAddress,
        method: String = "GET",
        path: String? = nil,
        host: String? = nil,
        _ fields: String = ""
    ) async throws -> String {
        let port = UInt16(try #require(start.url.port))
        let head = "\(method) \(path ?? start.url.path) HTTP/1.1\r\nHost: \(host ?? "127.0.0.1:\(port)")\r\n"
        return try await exchange("\(head)\(fields)\r\n", port: port)
    }

    @Test func sendsTheBrowserOnOnce() async throws {
        let start = try StartAddress(leadingTo: target)
        #expect(start.url.path.utf8.count > 40 && start.url.host() == "127.0.0.1")
        let answer = try await ask(start, navigation)
        #expect(answer.hasPrefix("HTTP/1.1 302 ") && answer.contains("\r\nLocation: \(target)\r\n"))
        #expect(
            answer.contains("\r\nCache-Control: no-store\r\n")
                && answer.contains("\r\nReferrer-Policy: no-referrer\r\n")
        )
        try await start.visited(within: .seconds(30))
        for fields in ["", navigation] {
            let second = try await ask(start, fields)
            #expect(second.hasPrefix("HTTP/1.1 410 ") && !second.contains("id.example"))
        }
    }

    /// A launcher or a link checker may look at the address before the browser.
    @Test func answersTheBrowserAfterALook() async throws {
        let start = try StartAddress(leadingTo: target)
        for _ in 0..<3 { #expect(try await ask(start).hasPrefix("HTTP/1.1 302 ")) }
        // Its wait is for the browser, and ends by itself where a browser does not say that it is one.
        try await start.visited(within: .seconds(30), patience: .milliseconds(10))
        let waiting = Task { try await start.visited(within: .seconds(30), patience: .seconds(3600)) }
        #expect(try await ask(start, navigation).hasPrefix("HTTP/1.1 302 "))
        try await waiting.value
        #expect(try await ask(start).hasPrefix("HTTP/1.1 410 "))
    }

    private let question = BrowserQuestion(title: "Sign in at <b>?", sentences: ["A & B", "It's \u{202E}odd."])

    @Test func asksBeforeItSendsTheBrowserOn() async throws {
        let start = try StartAddress(leadingTo: target, asking: question)
        let path = start.url.path
        for _ in 0..<2 {
            let page = try await ask(start, navigation)
            #expect(page.hasPrefix("HTTP/1.1 200 ") && !page.contains("id.example"))
            #expect(page.contains("<h1>Sign in at &lt;b&gt;?</h1>") && page.contains("<p>A &amp; B</p>"))
            #expect(page.contains(#"href="\#(path)/agree""#) && page.contains(#"href="\#(path)/refuse""#))
            #expect(page.contains("frame-ancestors 'none'"))
        }
        let wait = Task { try await start.visited(within: .seconds(30)) }
        let inside = navigation.replacing("none", with: "same-origin")
        #expect(
            try await ask(start, path: path + "/agree", "Sec-Fetch-Site: cross-site\r\n").hasPrefix("HTTP/1.1 403 ")
        )
        let answer = try await ask(start, path: path + "/agree", inside)
        #expect(answer.hasPrefix("HTTP/1.1 302 ") && answer.contains("\r\nLocation: \(target)\r\n"))
        try await wait.value
        #expect(try await ask(start, path: path + "/agree", inside).hasPrefix("HTTP/1.1 410 "))
    }

    @Test func endsWhereThePersonRefuses() async throws {
        let start = try StartAddress(leadingTo: target, asking: question)
        let answer = try await ask(start, path: start.url.path + "/refuse", navigation)
        #expect(answer.hasPrefix("HTTP/1.1 200 ") && answer.contains("Not signed in"))
        _ = try await expectError(.userCancelled) { try await start.visited(within: .seconds(30)) }
    }

    @Test func hasNoAnswersWithoutAQuestion() async throws {
        let start = try StartAddress(leadingTo: target)
        for answer in ["/agree", "/refuse"] {
            #expect(try await ask(start, path: start.url.path + answer, navigation).hasPrefix("HTTP/1.1 404 "))
        }
    }

    @Test func answersNothingElse() async throws {
        let start = try StartAddress(leadingTo: target)
        let others = [
            (try await ask(start, path: "/"), "404"),
            (try await ask(start, path: "/favicon.ico"), "404"),
            (try await ask(start, path: start.url.path + "?x"), "404"),
            (try await ask(start, method: "HEAD"), "405"),
            (try await ask(start, host: "evil.example"), "400"),
            (try await ask(start, host: "evil.example:\(start.url.port ?? 0)", navigation), "400"),
            (try await ask(start, host: "127.0.0.1"), "400"),
            (try await ask(start, "Sec-Purpose: prefetch;prerender\r\n\(navigation)"), "403"),
            (try await ask(start, "Purpose: prefetch\r\n"), "403"),
            (try await ask(start, "X-Moz: prefetch\r\n"), "403"),
            (try await ask(start, "Sec-Fetch-Dest: iframe\r\n"), "403"),
            (try await ask(start, "Sec-Fetch-Mode: no-cors\r\n"), "403"),
            (try await ask(start, "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n"), "403"),
        ]
        for (answer, status) in others {
            #expect(answer.hasPrefix("HTTP/1.1 \(status) ") && !answer.contains("id.example"))
        }
        // None of these requests used up the address.
        #expect(try await ask(start, navigation).hasPrefix("HTTP/1.1 302 "))
    }

    @Test func answersNoOtherUser() async throws {
        let start = try StartAddress(leadingTo: target, sender: RedirectSender(users: [geteuid() + 1]))
        let answer = try await ask(start)
        #expect(answer.hasPrefix("HTTP/1.1 403 ") && !answer.contains("id.example"))
    }

    @Test func waitsForNoBrowserForEver() async throws {
        try await StartAddress(leadingTo: target).visited(within: .milliseconds(10))
        let start = try StartAddress(leadingTo: target)
        let waiting = Task { try await start.visited(within: .seconds(3600)) }
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
    }
}
