// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import IdentityTestSupport
import LoopbackHTTP
import OAuthWire
import SystemSupport
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
        form: String? = nil,
        _ fields: String = ""
    ) async throws -> String {
        let port = UInt16(try #require(start.url.port))
        let head = "\(method) \(path ?? start.url.path) HTTP/1.1\r\nHost: \(host ?? "127.0.0.1:\(port)")\r\n"
        let length = form.map {
            "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: \($0.utf8.count)\r\n"
        }
        return try await exchange("\(head)\(fields)\(length ?? "")\r\n\(form ?? "")", port: port)
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

    private let question = BrowserQuestion(
        title: "Sign in at <b>?",
        sentences: ["A & B", "It's odd."],
        details: [.init(label: "Its <name>", text: "A\u{202E}B\n\"C\" <\u{301}i>")]
    )

    /// The word in the form of the page.
    private func word(_ start: StartAddress) async throws -> String {
        let page = try await ask(start, navigation)
        return String(try #require(page.firstMatch(of: /name="word" value="([^"]{40,})"/)).1)
    }

    /// The fields of a browser in which a person presses a button of the page.
    private func fields(_ start: StartAddress) -> String {
        let inside = navigation.replacing("none", with: "same-origin")
        return "Origin: http://127.0.0.1:\(start.url.port ?? 0)\r\n\(inside)"
    }

    @Test func asksBeforeItSendsTheBrowserOn() async throws {
        let start = try StartAddress(leadingTo: target, asking: question)
        for _ in 0..<2 {
            let page = try await ask(start, navigation)
            #expect(page.hasPrefix("HTTP/1.1 200 ") && !page.contains("id.example"))
            #expect(page.contains("<h1>Sign in at &lt;b&gt;?</h1>") && page.contains("<p>A &amp; B</p>"))
            #expect(page.contains("<dt>Its &lt;name&gt;</dt>\n<dd dir=\"auto\">AB &quot;C&quot; &lt;\u{301}i&gt;</dd>"))
            #expect(page.contains("form-action 'self'; frame-ancestors 'none'"))
        }
        let wait = Task { try await start.visited(within: .seconds(30), patience: .seconds(3600)) }
        let form = "word=\(try await word(start))&answer=yes"
        let answer = try await ask(start, method: "POST", form: form, fields(start))
        #expect(answer.hasPrefix("HTTP/1.1 200 ") && answer.contains("\r\nRefresh: 0;url=\(target)\r\n"))
        #expect(
            answer.contains("href=\"\(target.replacing("&", with: "&amp;"))\"") && answer.contains("form-action 'none'")
        )
        #expect(answer.contains("\r\nReferrer-Policy: no-referrer\r\n"))
        try await wait.value
        #expect(try await ask(start, method: "POST", form: form, fields(start)).hasPrefix("HTTP/1.1 410 "))
    }

    /// An older browser or a text browser says nothing about itself.
    @Test func takesTheFormOfABrowserWithoutItsFields() async throws {
        let start = try StartAddress(leadingTo: target, asking: question)
        let form = "word=\(try await word(start))&answer=yes"
        #expect(try await ask(start, method: "POST", form: form).contains("\r\nRefresh: 0;url=\(target)\r\n"))
        try await start.visited(within: .seconds(30), patience: .seconds(3600))
    }

    /// The address is made after the yes: until then nothing is registered for it.
    @Test func waitsForAnAddressThatFollowsTheAnswer() async throws {
        let known = Promise<String>()
        let start = try StartAddress(leadingTo: known, asking: question)
        let agreement = Task { try await start.agreed(within: .seconds(30)) }
        let form = "word=\(try await word(start))&answer=yes"
        let answer = Task { try await ask(start, method: "POST", form: form, fields(start)) }
        try await agreement.value
        known.finish(.success(target))
        #expect(try await answer.value.contains("\r\nRefresh: 0;url=\(target)\r\n"))
        try await start.visited(within: .seconds(30), patience: .seconds(3600))
    }

    @Test func showsWhyNoAddressFollowsTheAnswer() async throws {
        let known = Promise<String>()
        let start = try StartAddress(leadingTo: known, asking: question)
        await #expect(throws: DeadlineExceeded.self) { try await start.agreed(within: .zero) }
        known.finish(.failure(AuthenticationError(.clientNotRegistered, "It registers <nobody>.")))
        let form = "word=\(try await word(start))&answer=yes"
        let answer = try await ask(start, method: "POST", form: form, fields(start))
        #expect(answer.contains("It registers &lt;nobody&gt;.") && !answer.contains("Refresh"))
        let refused = try StartAddress(leadingTo: Promise<String>(), asking: question)
        let no = "word=\(try await word(refused))&answer=no"
        _ = try await ask(refused, method: "POST", form: no, fields(refused))
        _ = try await expectError(.userCancelled) { try await refused.agreed(within: .seconds(30)) }
    }

    /// An add-on or a link scanner loads addresses; a page from elsewhere can send a form, but cannot read the word.
    @Test func onlyTheFormOfThePageAnswers() async throws {
        let start = try StartAddress(leadingTo: target, asking: question)
        let word = try await word(start)
        let (yes, own) = ("word=\(word)&answer=yes", fields(start))
        let path = start.url.path
        let others = [
            (try await ask(start, path: "\(path)/agree", navigation), "404"),
            (try await ask(start, path: "\(path)?\(yes)", navigation), "404"),
            (try await ask(start, method: "POST", path: "\(path)?\(yes)", form: yes, own), "404"),
            (try await ask(start, method: "PUT", form: yes, own), "405"),
            (try await ask(start, method: "POST", form: "answer=yes", own), "403"),
            (try await ask(start, method: "POST", form: "word=&answer=yes", own), "403"),
            (try await ask(start, method: "POST", form: "word=\(word.dropLast())&answer=yes", own), "403"),
            (try await ask(start, method: "POST", form: "word=\(SecureRandom.token())&answer=yes", own), "403"),
            (try await ask(start, method: "POST", form: "word=\(word)", own), "403"),
            (try await ask(start, method: "POST", form: "word=\(word)&answer=", own), "403"),
            (try await ask(start, method: "POST", form: "word=\(word)&answer=yes&answer=no", own), "403"),
            (try await ask(start, method: "POST", form: yes, "Origin: null\r\n"), "403"),
            (try await ask(start, method: "POST", form: yes, "Origin: https://evil.example\r\n"), "403"),
            (try await ask(start, method: "POST", form: yes, "Origin: http://127.0.0.1:1\r\n\(own)"), "403"),
            (try await ask(start, method: "POST", form: yes, navigation), "403"),
            (try await ask(start, method: "POST", form: yes, "Sec-Fetch-Site: cross-site\r\n"), "403"),
            (try await ask(start, method: "POST", form: yes, "Sec-Fetch-Mode: cors\r\n"), "403"),
            (try await ask(start, method: "POST", form: yes, "Sec-Fetch-Dest: iframe\r\n"), "403"),
            (try await ask(start, method: "POST", form: yes, "Sec-Purpose: prefetch\r\n\(own)"), "403"),
        ]
        for (index, (answer, status)) in others.enumerated() {
            #expect(answer.hasPrefix("HTTP/1.1 \(status) ") && !answer.contains("id.example"), "\(index)")
        }
        #expect(try await ask(start, method: "POST", form: yes, own).contains("\r\nRefresh: "))
    }

    @Test func endsWhereThePersonRefuses() async throws {
        let start = try StartAddress(leadingTo: target, asking: question)
        let form = "word=\(try await word(start))&answer=no"
        let answer = try await ask(start, method: "POST", form: form, fields(start))
        #expect(answer.hasPrefix("HTTP/1.1 200 ") && answer.contains("Not signed in"))
        _ = try await expectError(.userCancelled) { try await start.visited(within: .seconds(30)) }
    }

    @Test func hasNoAnswersWithoutAQuestion() async throws {
        let start = try StartAddress(leadingTo: target)
        #expect(
            try await ask(start, method: "POST", form: "word=&answer=yes", fields(start)).hasPrefix("HTTP/1.1 405 ")
        )
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
