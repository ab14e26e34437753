// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Testing
import TokenForwarding

@testable import identityctl

/// The lines of a profile about its forwarder, and what the engine is told.
@Suite struct ForwardLinesTests {
    private func profile(_ lines: [String]) throws -> Profile {
        let text = ["client-id = c", "issuer = https://id.test", "serves = https://api.test/v1"] + lines
        return try Profile(
            try #require(ProfileName("work")),
            path: "/p/work.conf",
            parsing: Array(text.joined(separator: "\n").utf8)
        )
    }

    private func route(_ lines: String..., isSocket: Bool = false) throws -> ForwardingRoute {
        let profile = try profile(["forward = https://api.test/v1"] + lines)
        let found = try #require(try ForwardLines(profile))
        return try found.route(profile, phantom: "fwd_word", isSocket: isSocket, Variables([:]))
    }

    @Test func leadToTheAddressAndNowhereElse() throws {
        let route = try route()
        #expect(route.name == "work" && route.scheme == "https" && route.authority == "api.test")
        #expect(route.path == "/v1" && route.phantom == "fwd_word" && route.allowed.isEmpty)
        #expect(route.tokenField.name == "Authorization" && route.tokenField.before == "Bearer ")
        #expect(route.renewsOn == [401] && !route.passesCookies && route.proxy == nil)
        #expect(try ForwardLines(profile([])) == nil)
    }

    @Test func wantPhantomAndUserAtAPortAndTheUserAtASocket() throws {
        #expect(try route().access == .both)
        #expect(try route(isSocket: true).access == .user)
        #expect(try route("forward-access = both", isSocket: true).access == .both)
        #expect(try route("forward-access = phantom").access == .phantom)
    }

    @Test func areReadOneByOne() throws {
        let route = try route(
            "forward-allow = GET,HEAD /v1/models",
            "forward-allow = POST /v1/messages",
            "forward-header = x-api-key: key-{token}!",
            "forward-renew-on = 401,403",
            "forward-cookies = on",
            "proxy = none"
        )
        #expect(route.allowed.map(\.methods) == [["GET", "HEAD"], ["POST"]])
        #expect(route.allowed.map(\.path) == ["/v1/models", "/v1/messages"])
        #expect(route.tokenField.name == "x-api-key")
        #expect(route.tokenField.before == "key-" && route.tokenField.after == "!")
        #expect(route.renewsOn == [401, 403] && route.passesCookies && route.proxy == "")
        let lines = try #require(
            try ForwardLines(profile(["forward = https://api.test/v1/", "forward-port = 8410", "forward-wait = 2m"]))
        )
        #expect(lines.port == 8410 && lines.wait == .seconds(120) && lines.path == "/v1")
        #expect(try ForwardLines(profile(["forward = https://api.test/v1"]))?.wait == .seconds(50))
    }

    @Test(
        arguments: [
            (["forward = https://other.test"], "does not serve this address"),
            (["forward = https://api.test"], "does not serve this address"),
            (["forward = http://api.test/v1"], "give an https address"),
            (["serves = http://localhost:80", "forward = http://localhost:80"], "give an https address"),
            (["forward = imaps://api.test"], "give an https address"),
            (["forward = https://api.test/v1", "agent-confirm = 15m"], "as the line 'agent-confirm' wants"),
            (["forward = https://api.test/v1", "dpop = required"], "bound to a key"),
            (["forward = https://api.test/v1", "scheme = pop"], "bound to a key"),
        ]
    )
    func areRefusedWithTheReason(_ lines: [String], _ reason: String) throws {
        let profile = try profile(lines)
        let refusal = #expect(throws: UsageError.self) { try ForwardLines(profile) }
        #expect(refusal?.message.hasPrefix("/p/work.conf:") == true, "\(refusal?.message ?? "")")
        #expect(refusal?.message.contains(reason) == true, "\(refusal?.message ?? "")")
    }

    /// Also without a line `forward`, so that a mistake is found when it is made.
    @Test(
        arguments: [
            "forward-port = 0", "forward-port = 65536", "forward-wait = 50", "forward-access = all",
            "forward-allow = GET", "forward-allow = get /v1", "forward-allow = GET, /v1", "forward-allow = GET v1",
            "forward-allow = GET /v1/../v2", "forward-allow = GET /a?b", "forward-header = x-api-key",
            "forward-header = x-api-key: token", "forward-header = x api: {token}", "forward-renew-on = 200",
            "forward-renew-on = 401,", "forward-cookies = maybe",
        ]
    )
    func refuseAMistake(_ line: String) throws {
        let profile = try profile([line])
        let refusal = #expect(throws: UsageError.self) { try ProfileCheck.check(profile, Variables([:])) }
        #expect(refusal?.message.hasPrefix("/p/work.conf:4: ") == true, "\(refusal?.message ?? "")")
    }

    /// The line number of a comment changes nothing; the address does.
    @Test func areTheSameAfterAnotherChangeOfTheProfile() throws {
        let lines = try ForwardLines(profile(["forward = https://api.test/v1"]))
        #expect(try ForwardLines(profile(["# a comment", "scope = b", "forward = https://api.test/v1"])) == lines)
        #expect(try ForwardLines(profile(["forward = https://api.test/v1/a"])) != lines)
        #expect(try ForwardLines(profile(["forward = https://api.test/v1", "proxy = none"])) != lines)
    }
}
