// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import LoopbackHTTP
import OAuthWire
import Testing

@testable import IdentityClient

@Suite struct RedirectRequestTests {
    private static let form = "application/x-www-form-urlencoded"

    private func decide(_ request: LoopbackRequest, _ mode: ResponseMode, path: String = "") throws -> RedirectRequest {
        let redirectURI = try #require(URL(string: "http://localhost:4711\(path)"))
        return RedirectRequest(request, redirectURI: redirectURI, port: 4711, path: path, responseMode: mode)
    }

    @Test(arguments: [
        ("GET", "/?code=a&state=b", "localhost:4711", "", nil),
        ("GET", "/?error=access_denied", "127.0.0.1:4711", "", nil),
        ("GET", "/?code=a", "[::1]:4711", "", nil),
        ("GET", "/?code=a", "LOCALHOST:4711", "", nil),
        ("GET", "/back?code=a", "localhost:4711", "/back", nil),
        ("GET", "/?code=a", "localhost", "", 400),
        ("GET", "/?code=a", "localhost:4712", "", 400),
        ("GET", "/?code=a", "rebound.example:4711", "", 400),
        ("GET", "/?code=a", "localhost.example:4711", "", 400),
        ("GET", "/favicon.ico", "localhost:4711", "", 404),
        ("GET", "//?code=a", "localhost:4711", "", 404),
        ("GET", "/back/?code=a", "localhost:4711", "/back", 404),
        ("GET", "/BACK?code=a", "localhost:4711", "/back", 404),
        ("GET", "/?code=a", "localhost:4711", "/back", 404),
        ("HEAD", "/?code=a", "localhost:4711", "", 405),
        ("OPTIONS", "/?code=a", "localhost:4711", "", 405),
        ("POST", "/?code=a", "localhost:4711", "", 405),
        ("GET", "/", "localhost:4711", "", 400),
        ("GET", "/?", "localhost:4711", "", 400),
        ("GET", "/?state=b&session_state=c", "localhost:4711", "", 400),
        ("GET", "/?code=%FF", "localhost:4711", "", 400),
        ("GET", "/?code=%4", "localhost:4711", "", 400),
    ])
    func takesOnlyWhatCanBeTheAnswer(
        _ method: String,
        _ target: String,
        _ host: String,
        _ path: String,
        _ status: Int?
    ) throws {
        let decision = try decide(
            LoopbackRequest(method: method, target: target, headers: ["host": host]),
            .query,
            path: path
        )
        if let status {
            #expect(decision == .refused(status: status))
        } else {
            guard case .redirect(let url, .query) = decision else {
                Issue.record("\(decision)")
                return
            }
            #expect(url.absoluteString.hasPrefix("http://localhost:4711\(path)?"))
        }
    }

    @Test(
        arguments: [
            ("POST", form, "code=a&state=b", nil),
            ("POST", "Application/X-WWW-Form-Urlencoded; charset=\"UTF-8\"", "code=a", nil),
            ("POST", form + ";charset=iso-8859-1", "code=a", 415),
            ("POST", "text/plain", "code=a", 415),
            ("POST", "multipart/form-data; boundary=a", "code=a", 415),
            ("POST", form, "state=b", 400),
            ("POST", form, "", 400),
            ("GET", form, "code=a", 400),
            ("PUT", form, "code=a", 405),
        ] as [(String, String, String, Int?)]
    )
    func takesFormsOnly(_ method: String, _ type: String, _ body: String, _ status: Int?) throws {
        let request = LoopbackRequest(
            method: method,
            target: "/",
            headers: ["Host": "localhost:4711", "Content-Type": type],
            body: Array(body.utf8)
        )
        let decision = try decide(request, .formPost)
        if let status {
            #expect(decision == .refused(status: status))
        } else {
            #expect(try decision == .redirect(#require(URL(string: "http://localhost:4711?\(body)")), .formPost))
        }
    }

    /// GitLab and WSO2 Identity Server publish form posts, but answer in the query.
    @Test(arguments: [
        ("GET", "/?code=a&state=b", nil),
        ("GET", "/?error=access_denied&state=b", nil),
        ("GET", "/", 400),
        ("GET", "/?state=b", 400),
        ("GET", "/?code=%FF", 400),
        ("GET", "/other?code=a", 404),
        ("HEAD", "/?code=a", 405),
        ("POST", "/?code=a", 415),
    ])
    func takesAQueryInPlaceOfTheForm(_ method: String, _ target: String, _ status: Int?) throws {
        let request = LoopbackRequest(method: method, target: target, headers: ["Host": "localhost:4711"])
        let decision = try decide(request, .formPost)
        if let status {
            #expect(decision == .refused(status: status))
        } else {
            let url = try #require(URL(string: "http://localhost:4711\(target.dropFirst())"))
            #expect(decision == .redirect(url, .query))
        }
    }

    /// A value that cannot be read is its own parameter's fault, unless the answer depends on it.
    @Test(
        arguments: [
            ("code=a&state=b&x=%zz", "code=a&state=b&x=%25zz"),
            (
                "error=access_denied&error_description=Acc%E8s+refus%E9&state=b",
                "error=access_denied&error_description=Acc%EF%BF%BDs%20refus%EF%BF%BD&state=b"
            ),
            ("code=a%2Bb+c&state=b", "code=a%2Bb+c&state=b"),
            ("code=a&state=%FF", nil), ("code=%zz&state=b", nil), ("error=%FF&state=b", nil), ("code=a&iss=%E8", nil),
        ] as [(String, String?)]
    )
    func repairsWhatDoesNotMatter(_ query: String, _ expected: String?) throws {
        let request = LoopbackRequest(method: "GET", target: "/?\(query)", headers: ["Host": "localhost:4711"])
        let decision = try decide(request, .query)
        guard let expected else {
            #expect(decision == .refused(status: 400))
            return
        }
        #expect(try decision == .redirect(#require(URL(string: "http://localhost:4711?\(expected)")), .query))
    }

    @Test func takesNoFormInPlaceOfTheQuery() throws {
        #expect(try decide(posted("code=a&state=b", to: "/"), .query) == .refused(status: 405))
    }

    /// A sign-in ends in a window, not in a frame, image or script of a web page.
    @Test(
        arguments: [
            (["Sec-Fetch-Dest": "document", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Site": "cross-site"], true),
            (["Sec-Fetch-Dest": "iframe", "Sec-Fetch-Mode": "navigate"], false),
            (["Sec-Fetch-Dest": "image", "Sec-Fetch-Mode": "no-cors"], false),
            (["Sec-Fetch-Mode": "cors"], false),
        ] as [([String: String], Bool)]
    )
    func takesWindowsOnly(_ fields: [String: String], _ isTaken: Bool) throws {
        var headers: LoopbackHeaders = ["Host": "localhost:4711"]
        for (name, value) in fields { headers[name] = value }
        let decision = try decide(LoopbackRequest(method: "GET", target: "/?code=a", headers: headers), .query)
        #expect((decision == .refused(status: 403)) == !isTaken)
    }

    /// RFC 6749 appendix A.11: a code may contain any visible character.
    @Test(arguments: [("GET", "%20"), ("POST", "+"), ("POST", "%20")])
    func keepsEveryCharacterOfACode(_ method: String, _ space: String) throws {
        let form = "code=a%2Bb%2Fc%3Dd%25e%26f%23g\(space)h&state=s"
        let decision =
            method == "GET"
            ? try decide(
                LoopbackRequest(method: "GET", target: "/?\(form)", headers: ["Host": "localhost:4711"]),
                .query
            )
            : try decide(posted(form, to: "/"), .formPost)
        guard case .redirect(let url, _) = decision else {
            Issue.record("\(decision)")
            return
        }
        let answer = try AuthorizationResponse.parse(query: RedirectAddress(url.absoluteString).items)
        guard case .code(let code) = answer.outcome else {
            Issue.record("no code")
            return
        }
        #expect(code == "a+b/c=d%e&f#g h" && answer.state == "s")
    }

    /// Parameters in the address of a form post do not count.
    @Test func readsTheFormAlone() throws {
        #expect(try decide(posted("state=b", to: "/?code=a"), .formPost) == .refused(status: 400))
    }

    private func posted(_ body: String, to target: String) -> LoopbackRequest {
        LoopbackRequest(
            method: "POST",
            target: target,
            headers: ["Host": "localhost:4711", "Content-Type": Self.form],
            body: Array(body.utf8)
        )
    }

    /// The address is valid and has the same meaning, even if a browser leaves characters unescaped. Duplicate parameters
    /// stay, so that the flow sees them.
    @Test(arguments: [
        ("code=a+b%20c&state=%C3%A4", "code=a+b%20c&state=%C3%A4"),
        ("code=a%2fb", "code=a%2Fb"),
        ("code=1&code=2&state=a&state=b", "code=1&code=2&state=a&state=b"),
        ("code=a'b|c\"<>", "code=a%27b%7Cc%22%3C%3E"),
        ("code=ä", "code=%C3%A4"),
        ("code=a#b", "code=a%23b"),
    ])
    func keepsTheParameters(_ body: String, _ query: String) throws {
        guard case .redirect(let url, .formPost) = try decide(posted(body, to: "/"), .formPost) else {
            Issue.record("not taken")
            return
        }
        #expect(url.absoluteString == "http://localhost:4711?\(query)")
        #expect(url.query(percentEncoded: true) == query)
    }

    @Test func refusesAFormThatIsNotUTF8() throws {
        let request = LoopbackRequest(
            method: "POST",
            target: "/",
            headers: ["Host": "localhost:4711", "Content-Type": Self.form],
            body: Array("code=a".utf8) + [0xE4]
        )
        #expect(try decide(request, .formPost) == .refused(status: 400))
    }
}
