// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import LoopbackHTTP
import Testing

@testable import TokenForwarding

/// The word of a route in these tests.
let phantom = "fwd_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGH"

@Suite struct ForwardingRulesTests {
    private static let socketPlace = ForwardingRoute.Place.socket

    private func rules(
        _ access: ForwardingRoute.Access = .both,
        at place: ForwardingRoute.Place = .port(8410),
        _ change: (inout ForwardingRoute) -> Void = { _ in }
    ) -> ForwardingRules {
        var route = ForwardingRoute(
            name: "work",
            authority: "api.example.com",
            path: "/v1",
            phantom: phantom,
            access: access
        )
        change(&route)
        return ForwardingRules(route, at: place)
    }

    private func head(_ text: String, _ kind: HeadParser.Kind = .request) throws -> MessageHead {
        var parser = HeadParser(kind)
        return try #require(try parser.parse(Array(text.utf8).span)).head
    }

    /// The head that the server gets.
    private func sent(_ text: String, _ rules: ForwardingRules) throws -> String {
        String(decoding: try rules.head(of: try rules.request(try head(text)), token: "T"), as: UTF8.self)
    }

    private func refusal(_ text: String, _ rules: ForwardingRules) throws -> ForwardingProblem? {
        do {
            _ = try rules.request(try head(text))
            return nil
        } catch { return error as? ForwardingProblem }
    }

    private func get(_ fields: String, _ target: String = "/v1/a", _ method: String = "GET") -> String {
        "\(method) \(target) HTTP/1.1\r\nHost: 127.0.0.1:8410\r\nAuthorization: Bearer \(phantom)\r\n\(fields)\r\n"
    }

    // MARK: The order of taking off and setting (golang #50580, CVE-2021-33197)

    @Test(arguments: [
        "Connection: Authorization, close\r\n", "Connection: Host\r\nConnection: x-api-key\r\n",
        "Authorization: Bearer \(phantom)\r\n", "x-api-key: \(phantom)\r\nX-API-Key: other\r\n", "api-key: other\r\n",
        "x-goog-api-key: other\r\nPRIVATE-TOKEN: other\r\nX-IDENTITY-HEADER: other\r\n", "X_Api_Key: other\r\n",
        "X-Anything: before \(phantom) behind\r\n", "Cookie: a=b\r\nReferer: http://127.0.0.1:8410/\r\n",
        "X-Forwarded-For: 1.2.3.4\r\nX_Forwarded_User: root\r\nForwarded: for=a\r\nVia: 1.1 a\r\nX-Real-IP: 1.2.3.4\r\n",
        "X-Original-URL: /admin\r\nX-Rewrite-URL: /admin\r\nX-HTTP-Method-Override: DELETE\r\nX-HTTP-Method: DELETE\r\n",
        "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n",
        "Connection: Upgrade\r\nUpgrade: websocket\r\nKeep-Alive: timeout=5\r\nTE: trailers\r\nTrailer: X\r\n",
        "Proxy-Authorization: Basic YQ==\r\nProxy-Connection: keep-alive\r\nProxy-Anything: a\r\n",
        "Connection: X-Own\r\nX-Own: a\r\nx_own: b\r\n", "Expect: 100-continue\r\n", "Content-Length: 0\r\n",
    ])
    func sendsOnlyItsOwnCredential(_ fields: String) throws {
        let zero = fields.hasPrefix("Content-Length") ? fields : ""
        let expected = "GET /v1/a HTTP/1.1\r\nHost: api.example.com\r\n\(zero)Authorization: Bearer T\r\n\r\n"
        #expect(try sent(get(fields), rules()) == expected)
    }

    @Test func passesTheRestAsItIs() throws {
        let fields = "Accept: */*\r\nX-A:\t1 \r\nx-a: \u{E4}\r\nX_Other: 1\r\nAccept-Encoding: gzip, br\r\n"
        let all = try sent(get(fields, "/v1/@scope%2fname?q=%zz&r=../a#".replacing("#", with: "")), rules())
        #expect(
            all.hasPrefix(
                "GET /v1/@scope%2fname?q=%zz&r=../a HTTP/1.1\r\nHost: api.example.com\r\nAccept: */*\r\nX-A: 1\r\n"
            )
        )
        #expect(
            all.contains("x-a: \u{E4}\r\nX_Other: 1\r\nAccept-Encoding: gzip, br\r\nAuthorization: Bearer T\r\n\r\n")
        )
    }

    @Test func putsTheTokenWhereTheRouteWantsIt() throws {
        let rules = rules { $0.tokenField = .init(name: "X-Key", before: "k=", after: ";") }
        #expect(try sent(get("x_key: other\r\nX-KEY: another\r\n"), rules).hasSuffix("com\r\nX-Key: k=T;\r\n\r\n"))
        let request = try rules.request(try head(get("")))
        for token in ["", "a b", "a\r\nX: 1", "ä"] {
            #expect(throws: ForwardingProblem.self) { try rules.head(of: request, token: token) }
        }
    }

    @Test func makesTheFramingAnew() throws {
        let rules = rules()
        #expect(
            try sent(get("content-length: 007\r\n", "/v1", "POST"), rules).contains("com\r\nContent-Length: 7\r\nAuth")
        )
        let chunked = try sent(
            get("Connection: Transfer-Encoding\r\ntransfer-encoding: Chunked\r\n", "/v1", "PUT"),
            rules
        )
        #expect(chunked.contains("com\r\nTransfer-Encoding: chunked\r\nAuth"))
        #expect(try rules.request(try head(get("Content-Length: 2\r\n"))).length == .bytes(2))
    }

    // MARK: Who may ask

    @Test(arguments: [
        "Authorization: Bearer \(phantom)", "authorization: bearer  \(phantom)", "Authorization: token \(phantom)",
        "Authorization: \(phantom)", "x-api-key: \(phantom)", "X-Api-Key: wrong\r\nApi-Key: \(phantom)",
        "Private-Token: \(phantom)", "X-Goog-Api-Key: \(phantom)", "X-IDENTITY-HEADER: \(phantom)",
        // anyone:PHANTOM, PHANTOM:, PHANTOM:x-oauth-basic
        "Authorization: Basic YW55b25lOmZ3ZF8wMTIzNDU2Nzg5YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXpBQkNERUZHSA==",
        "Authorization: basic ZndkXzAxMjM0NTY3ODlhYmNkZWZnaGlqa2xtbm9wcXJzdHV2d3h5ekFCQ0RFRkdIOg==",
        "Authorization: Basic ZndkXzAxMjM0NTY3ODlhYmNkZWZnaGlqa2xtbm9wcXJzdHV2d3h5ekFCQ0RFRkdIOngtb2F1dGgtYmFzaWM=",
    ])
    func takesThePhantomWhereProgramsPutIt(_ field: String) throws {
        let request = "GET /v1/a HTTP/1.1\r\nHost: localhost:8410\r\n\(field)\r\n\r\n"
        #expect(
            try sent(request, rules())
                == "GET /v1/a HTTP/1.1\r\nHost: api.example.com\r\nAuthorization: Bearer T\r\n\r\n"
        )
    }

    @Test(arguments: [
        ("", ForwardingProblem.Code.phantomMissing), ("Cookie: \(phantom)\r\n", .phantomMissing),
        ("X-Other: \(phantom)\r\n", .phantomMissing),
        ("Authorization: Bearer \(phantom)x\r\n", .phantomWrong), ("Authorization: Bearer\r\n", .phantomWrong),
        ("Authorization: Basic \(phantom)\r\n", .phantomWrong), ("Authorization: Basic !!\r\n", .phantomWrong),
        ("x-api-key: \(phantom.lowercased())\r\n", .phantomWrong), ("x-api-key: \r\n", .phantomWrong),
        // PHANTOM:password
        (
            "Authorization: Basic ZndkXzAxMjM0NTY3ODlhYmNkZWZnaGlqa2xtbm9wcXJzdHV2d3h5ekFCQ0RFRkdIOnBhc3N3b3Jk\r\n",
            .phantomWrong
        ),
    ])
    func asksForThePhantom(_ field: String, _ code: ForwardingProblem.Code) throws {
        let problem = try refusal("GET /v1/a HTTP/1.1\r\nHost: 127.0.0.1:8410\r\n\(field)\r\n", rules())
        #expect(problem?.code == code && problem?.status == 401)
        let answer = String(decoding: problem?.answer(to: "GET", route: "work") ?? [], as: UTF8.self)
        #expect(
            answer.contains("\r\nWWW-Authenticate: Basic realm=\"identityctl work\"\r\n") && !answer.contains(phantom)
        )
        #expect(answer.contains("x-should-retry: false") == (code == .phantomWrong))
    }

    @Test(arguments: [
        ("127.0.0.1:8410", true), ("[::1]:8410", true), ("LOCALHOST:8410", true), ("evil.example", false),
        ("evil.example:8410", false), ("127.0.0.1", false), ("127.0.0.1:8411", false), ("localhost", false),
        ("127.0.0.2:8410", false), ("localhost.evil.example:8410", false), ("api.example.com", false), ("", false),
    ])
    func answersForItsOwnHostAlone(_ host: String, _ passes: Bool) throws {
        let request = "GET /v1 HTTP/1.1\r\nHost: \(host)\r\nx-api-key: \(phantom)\r\n\r\n"
        #expect(try refusal(request, rules())?.status == (passes ? nil : 421))
    }

    @Test(arguments: [
        ("localhost", true), ("localhost:1", true), ("127.0.0.1:1", true), ("[::1]", true), ("api.example.com", true),
        ("127.evil.example", false), ("127.0.0.1.evil.example", false), ("evil.example", false), ("localhost:x", false),
        ("1.0.0.127", false),
    ])
    func takesAnyLoopbackHostAtASocket(_ host: String, _ passes: Bool) throws {
        let request = "GET /v1 HTTP/1.1\r\nHost: \(host)\r\n\r\n"
        #expect(try refusal(request, rules(.user, at: .socket))?.status == (passes ? nil : 421))
    }

    @Test(arguments: [
        ("Origin: http://evil.example\r\n", true, true), ("Origin: null\r\n", true, true),
        ("Sec-Fetch-Site: cross-site\r\n", true, true), ("Sec-Fetch-Site: none\r\n", false, true),
        ("Sec-Fetch-Mode: cors\r\n", false, false), ("Referer: http://a/\r\n", false, true),
        ("Cookie: a=b\r\n", false, true),
        ("", false, false),
    ])
    func refusesPagesOfABrowser(_ field: String, _ withPhantom: Bool, _ without: Bool) throws {
        #expect(try refusal(get(field), rules())?.code == (withPhantom ? .browser : nil))
        #expect(try refusal(get(field), rules(.user))?.code == (without ? .browser : nil))
        #expect(try refusal(get(field, "/v1", "OPTIONS"), rules())?.code == (withPhantom ? .browser : nil))
    }

    // MARK: Which requests

    @Test(arguments: [
        "/v1/../secret", "/v1/./a", "/v1/..", "/v1/%2e%2e/secret", "/v1/%2E./a", "/v1/..%2fsecret", "/v1/a%2f..%2f..",
        "/v1/..%5ca",
        "/v1\\..\\secret", "/v1/a\\b", "//evil.example/v1", "/%2fevil.example/v1", "/v1/a#/b", "/v1/a?b#c", "/v1/%00",
        "/v1/%",
        "/v1/%2", "/v1/%zz", "/v1/%+1", "/v1/..;/secret", "/v1/..;a=b/secret", "/v1/%2e%2e%3b/a", "/v1/.;",
        "/v1/a?k=\(phantom)",
        "/v1/\(phantom)",
    ])
    func refusesATargetThatCouldBeReadInTwoWays(_ target: String) throws {
        #expect(try refusal(get("", target), rules())?.status == 400)
        #expect(
            try refusal(get("", target), rules { $0.allowed = [.init(methods: ["GET"], path: "/v1")] })?.status == 400
        )
    }

    @Test(arguments: [
        ("/v1", true), ("/v1/", true), ("/v1?a", true), ("/v1/a%2fb", true), ("/v1/%252e%252e/a", true),
        ("/v1/...", true), ("/v1/a//b", true),
        ("/v2", false), ("/v1x", false), ("/", false), ("/v1%2fa", false), ("/%761/a", false), ("/v1;x/a", false),
        ("/V1/a", false),
    ])
    func staysBelowTheRoutesPath(_ target: String, _ passes: Bool) throws {
        #expect(try refusal(get("", target), rules())?.code == (passes ? nil : .notAllowed))
    }

    @Test(arguments: [
        ("GET", "/v1/models", true), ("GET", "/v1/models/a%2fb?c", true), ("HEAD", "/v1/models", true),
        ("POST", "/v1/models", false),
        ("GET", "/v1/modelsx", false), ("GET", "/v1/models%2fa", false), ("GET", "/v1", false),
        ("POST", "/v1/chat", true),
    ])
    func allowsWhatTheLinesName(_ method: String, _ target: String, _ passes: Bool) throws {
        let rules = rules {
            $0.allowed = [
                .init(methods: ["GET", "HEAD"], path: "/v1/models"), .init(methods: ["POST"], path: "/v1/chat/"),
            ]
        }
        #expect(try refusal(get("", target, method), rules)?.code == (passes ? nil : .notAllowed))
    }

    @Test(arguments: [("TRACE", "", 405), ("GET", "Expect: a miracle\r\n", 417), ("OPTIONS", "", 400)])
    func refusesMethodsAndExpectations(_ method: String, _ field: String, _ status: Int) throws {
        #expect(try refusal(get(field, method == "OPTIONS" ? "*" : "/v1", method), rules())?.status == status)
    }

    // MARK: WebDAV

    @Test func movesAddressesOfTheForwarderToTheServer() throws {
        let fields = "Destination: http://127.0.0.1:8410/v1/b\r\nIf: <http://127.0.0.1:8410/v1/a> (<t>)\r\n"
        let all = try sent(get(fields, "/v1/a", "MOVE"), rules())
        #expect(
            all.contains(
                "\r\nDestination: https://api.example.com/v1/b\r\nIf: <https://api.example.com/v1/a> (<t>)\r\n"
            )
        )
        #expect(
            try sent(get("Destination: /v1/b\r\n", "/v1/a", "COPY"), rules()).contains("\r\nDestination: /v1/b\r\n")
        )
    }

    @Test(arguments: [
        ("http://127.0.0.1:8410/v2/b", 403), ("/v1/../b", 400), ("https://evil.example/v1/b", 400), ("/v2", 403),
        ("http://127.0.0.1:8410.evil.example/v1", 400), ("http://127.0.0.1:8410", 400),
    ])
    func holdsADestinationToTheSameRules(_ destination: String, _ status: Int) throws {
        #expect(try refusal(get("Destination: \(destination)\r\n", "/v1/a", "MOVE"), rules())?.status == status)
    }

    // MARK: Answers

    private func answer(
        _ text: String,
        _ request: String? = nil,
        isRefused: Bool = false,
        _ change: (inout ForwardingRoute) -> Void = { _ in }
    ) throws -> ForwardedAnswer {
        let rules = rules(.both, at: .port(8410), change)
        let request = try rules.request(try head(request ?? get("")))
        return try rules.answer(try head(text, .answer), to: request, isRefused: isRefused)
    }

    @Test func takesFieldsOffAnAnswer() throws {
        let fields =
            "Connection: X-Own, keep-alive\r\nX-Own: 1\r\nKeep-Alive: 5\r\nTrailer: X\r\nUpgrade: h2\r\nProxy-Authenticate: a\r\n"
            + "Set-Cookie: a=b\r\nAccess-Control-Allow-Origin: *\r\nAlt-Svc: h3=\":443\"\r\nX-Rest: 1\r\n"
        let text = "HTTP/1.1 201 Made it\r\n\(fields)Content-Length: 02\r\n\r\n"
        let made = try answer(text)
        #expect(
            String(decoding: made.head, as: UTF8.self)
                == "HTTP/1.1 201 Made it\r\nX-Rest: 1\r\nContent-Length: 2\r\n\r\n"
        )
        #expect(made.keepsUpstream && !made.closes && !made.hasChunks && made.length == .bytes(2))
        let cookies = try answer(text) { $0.passesCookies = true }
        #expect(String(decoding: cookies.head, as: UTF8.self).contains("Set-Cookie: a=b\r\n"))
    }

    @Test func movesAddressesOfTheServerToTheForwarder() throws {
        let fields = "Location: https://api.example.com/v1/b?c\r\nContent-Location: https://api.example.com\r\n"
        let link = "Link: <https://api.example.com/v1?p=2>; rel=\"next\", <https://other.example/>; rel=\"up\"\r\n"
        let text = String(
            decoding: try answer("HTTP/1.1 302 Found\r\n\(fields)\(link)Content-Length: 0\r\n\r\n").head,
            as: UTF8.self
        )
        #expect(
            text.contains("\r\nLocation: http://127.0.0.1:8410/v1/b?c\r\nContent-Location: http://127.0.0.1:8410\r\n")
        )
        #expect(
            text.contains(
                "Link: <http://127.0.0.1:8410/v1?p=2>; rel=\"next\", <https://other.example/>; rel=\"up\"\r\n"
            )
        )
        for place in [
            "https://other.example/a", "https://api.example.com.evil.example/", "/v1/a", "https://api.example.comx",
        ] {
            let text = String(
                decoding: try answer("HTTP/1.1 302 Found\r\nLocation: \(place)\r\n\r\n").head,
                as: UTF8.self
            )
            #expect(text.contains("\r\nLocation: \(place)\r\n"))
        }
    }

    @Test func endsAnAnswerAsTheClientCanReadIt() throws {
        let latest = try answer("HTTP/1.1 200 OK\r\n\r\n")
        #expect(latest.hasChunks && !latest.closes && !latest.keepsUpstream)
        let old = "GET /v1/a HTTP/1.0\r\nHost: 127.0.0.1:8410\r\nx-api-key: \(phantom)\r\n\r\n"
        let plain = try answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", old)
        #expect(!plain.hasChunks && plain.closes && plain.keepsUpstream)
        #expect(String(decoding: plain.head, as: UTF8.self) == "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
        let wished = try answer(
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\n",
            get("Connection: CLOSE\r\n")
        )
        #expect(wished.closes && !wished.keepsUpstream)
        let headOnly = try answer("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", get("", "/v1", "HEAD"))
        #expect(
            headOnly.length == .bytes(0) && String(decoding: headOnly.head, as: UTF8.self).contains("Content-Length: 9")
        )
        let empty = try answer("HTTP/1.1 204 No\r\nContent-Length: 9\r\n\r\n")
        #expect(empty.length == .bytes(0) && !String(decoding: empty.head, as: UTF8.self).contains("Content-Length"))
    }

    @Test func hidesARefusalThatTheClientCannotMeet() throws {
        let text = "HTTP/1.1 401 No\r\nWWW-Authenticate: Bearer error=\"invalid_token\"\r\nContent-Length: 2\r\n\r\n"
        let head = String(decoding: try answer(text, isRefused: true).head, as: UTF8.self)
        #expect(head.hasPrefix("HTTP/1.1 403 ") && !head.contains("Authenticate") && head.contains("Content-Length: 2"))
    }

    @Test(arguments: [
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
    ])
    func refusesAnAnswerThatCouldBeReadInTwoWays(_ text: String) throws {
        #expect(throws: ForwardingProblem.self) { try answer(text) }
    }

    @Test func saysAProblemInBothForms() throws {
        let problem = ForwardingProblem(.signInNeeded, "run: identityctl login --profile \"work\"\n", retryAfter: nil)
        let text = String(decoding: problem.answer(to: "GET", route: "work"), as: UTF8.self)
        #expect(text.hasPrefix("HTTP/1.1 403 sign-in-needed\r\nServer: identityctl\r\nCache-Control: no-store\r\n"))
        #expect(text.contains("\"type\":\"urn:identityctl:forward:sign-in-needed\""))
        #expect(
            text.contains(
                "\"error\":{\"type\":\"sign-in-needed\",\"message\":\"run: identityctl login --profile \\\"work\\\" \"}"
            )
        )
        #expect(text.contains("\r\nx-should-retry: false\r\n") && !text.contains("Retry-After"))
        let body = try #require(text.firstRange(of: "\r\n\r\n")).upperBound
        #expect(text.contains("Content-Length: \(text[body...].utf8.count)\r\n"))
        let busy = String(decoding: ForwardingProblem(.offline, "x").answer(to: "HEAD", route: "r"), as: UTF8.self)
        #expect(
            busy.contains("\r\nRetry-After: 5\r\n") && !busy.contains("x-should-retry") && busy.hasSuffix("\r\n\r\n")
        )
    }
}
