// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityTestSupport
import Testing

@testable import IdentityClient

/// Pages of the program at the end of a sign-in.
@Suite(.timeLimit(.minutes(1))) struct ProgramPagesTests {
    private static func url(_ text: String) throws -> URL { try #require(URL(string: text)) }

    /// Returns the browser's answer to a redirect that ended so.
    private func answer(
        _ receiver: LoopbackRedirectReceiver,
        _ page: RedirectPage,
        mode: ResponseMode = .query
    ) async throws -> String {
        let listener = try await receiver.start(for: .loopback, responseMode: mode)
        let port = UInt16(try #require(listener.redirectURI.port))
        let browser = try RawConnection(port: port)
        let answer = "code=SECRET&state=SECRET"
        switch mode {
        case .query: browser.send("GET /?\(answer) HTTP/1.1\r\nHost: localhost:\(port)\r\n\r\n")
        case .formPost:
            browser.send(
                "POST / HTTP/1.1\r\nHost: localhost:\(port)\r\nContent-Type: application/x-www-form-urlencoded\r\n"
                    + "Content-Length: \(answer.utf8.count)\r\n\r\n\(answer)"
            )
        }
        let redirect = try await listener.receive()
        await listener.answer(redirect, with: page)
        let text = try await browser.receive()
        await listener.close()
        return text
    }

    @Test(arguments: ResponseMode.allCases)
    func areShownAndToldNothing(_ mode: ResponseMode) async throws {
        let receiver = try LoopbackRedirectReceiver(
            successURL: Self.url("https://app.example/done?a=b"),
            failureURL: Self.url("http://127.0.0.1:8080/failed")
        )
        let good = try await answer(receiver, RedirectPage(outcome: .succeeded), mode: mode)
        #expect(good.hasPrefix("HTTP/1.1 303 ") && good.contains("\r\nLocation: https://app.example/done?a=b\r\n"))
        #expect(good.contains("\r\nReferrer-Policy: no-referrer\r\n") && good.contains("default-src 'none'"))
        let bad = try await answer(receiver, RedirectPage(outcome: .failed, message: "SECRET"), mode: mode)
        #expect(bad.hasPrefix("HTTP/1.1 303 ") && bad.contains("\r\nLocation: http://127.0.0.1:8080/failed\r\n"))
        #expect(!good.contains("SECRET") && !bad.contains("SECRET"))
    }

    @Test func areShownForTheirOutcomeOnly() async throws {
        let receiver = try LoopbackRedirectReceiver(successURL: Self.url("https://app.example/"))
        let failed = RedirectPage(outcome: .failed, message: "It failed.")
        #expect(try await answer(receiver, failed, mode: .formPost).contains("It failed."))
        #expect(try await answer(receiver, failed).contains("\r\nLocation: /?done\r\n"))
        #expect(try await answer(receiver, RedirectPage(outcome: .refused)).hasPrefix("HTTP/1.1 400 "))
        let out = try await answer(receiver, RedirectPage(outcome: .signedOut), mode: .formPost)
        #expect(out.hasPrefix("HTTP/1.1 200 "))
    }

    @Test(arguments: [
        "http://app.example/", "file:///etc/passwd", "javascript:alert(1)", "/done", "https://a@app.example/",
        "https://app.example/" + String(repeating: "x", count: 9000), "https:",
    ])
    func haveASafeAddress(_ text: String) throws {
        guard let url = URL(string: text) else { return }  // not an address at all
        let pairs: [(URL, URL?)] = [(url, nil), (try Self.url("https://app.example/"), url)]
        for (success, failure) in pairs {
            #expect {
                try LoopbackRedirectReceiver(successURL: success, failureURL: failure)
            } throws: {
                ($0 as? AuthenticationError)?.code == .invalidArgument
            }
        }
    }
}
