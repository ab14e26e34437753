// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IdentityTestSupport
import IdentityTesting
import LoopbackHTTP
import OAuthWire
import SystemSupport
import Testing

@testable import identityctl

/// `identityctl forward`, between programs and an API.
@Suite(.timeLimit(.minutes(1))) struct ForwardProcessTests {
    @Test func passesRequestsOnWithATokenThatNoProgramSees() async throws {
        let api = try await ForwardedAPI()
        let token = try await api.person.login("api")
        let tool = try await api.start("--log-level", "info")
        let place = try await api.place()
        let answer = try await api.get(place, "GET /v1/models?secret=1")
        #expect(answer.hasPrefix("HTTP/1.1 200 ") && answer.hasSuffix("welcome"))
        #expect(try ForwardedAPI.get(atSocket: place.socket).hasSuffix("welcome"))
        #expect(api.requests.count == 2)
        for request in api.requests {
            #expect(request.headers["Authorization"] == "Bearer \(token)" && request.headers["x-api-key"] == nil)
            #expect(request.headers["Host"] == api.host)
        }
        #expect(api.requests.first?.target == "/v1/models?secret=1")
        #expect(try permissions(place.socket) == 0o600)
        #expect(try permissions(PlainFile.directory(of: place.socket)) == 0o700)
        let stopped = try await api.person.run(["forward", "stop"])
        #expect(stopped.status == 0 && stopped.errors == "The forwarder ends.\n", "\(stopped)")
        let outcome = try await tool.outcome()
        #expect(outcome.status == 0 && outcome.output.isEmpty, "\(outcome)")
        let line = try #require(outcome.errorLines.first { $0.contains("Passed a request on") })
        #expect(line.contains("path=/v1/models ") && line.contains("status=200"), "\(line)")
        for secret in [token, place.phantom, "secret=1"] { #expect(!outcome.errors.contains(secret)) }
        #expect(!SystemCall.exists(place.socket))
    }

    @Test func refusesWhoHasNotThePhantom() async throws {
        let api = try await ForwardedAPI()
        try await api.person.login("api")
        let tool = try await api.start()
        let place = try await api.place()
        let missing = try await exchange(ForwardedAPI.request(at: place.port), port: place.port)
        #expect(missing.hasPrefix("HTTP/1.1 401 phantom-missing\r\n"))
        #expect(missing.contains("WWW-Authenticate: Basic realm=\"identityctl api\"\r\n"))
        let wrong = try await exchange(ForwardedAPI.request(at: place.port, "fwd_other"), port: place.port)
        #expect(wrong.hasPrefix("HTTP/1.1 401 phantom-wrong\r\n"))
        let above = try await api.get(place, "GET /v2")
        #expect(above.hasPrefix("HTTP/1.1 403 not-allowed\r\n"))
        #expect(api.requests.isEmpty)
        tool.interrupt(by: SIGTERM)
        #expect(try await tool.outcome().status == 0)
    }

    @Test func saysWhatToRunWhereNoAccountIsSignedIn() async throws {
        let api = try await ForwardedAPI()
        let tool = try await api.start()
        let refused = try await api.get(try await api.place())
        #expect(refused.hasPrefix("HTTP/1.1 403 sign-in-needed\r\n") && refused.contains("x-should-retry: false"))
        let body = try JSONObject(parsing: Array(try #require(refused.split(separator: "\r\n").last).utf8))
        let command = "To sign in, run: identityctl login --profile api"
        #expect(body.string("detail")?.hasSuffix(command) == true, "\(refused)")
        #expect(body.object("error")?.string("message")?.hasSuffix(command) == true)
        // The next request finds the sign-in.
        try await api.person.login("api")
        #expect(try await api.get(try await api.place()).hasSuffix("welcome"))
        tool.interrupt()
    }

    @Test func opensOneTabForAllRequestsThatWait() async throws {
        let api = try await ForwardedAPI("sign-in = when-needed")
        let browser = BrowserStandIn()
        let tool = try await api.start(having: ["IDENTITYCTL_BROWSER": try browser.command, "DISPLAY": ":99"])
        let place = try await api.place()
        try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<5 { group.addTask { try await api.get(place) } }
            let address = try await tool.poll("a page") { browser.address }
            try await ScriptedBrowser(provider: nil).visit(try #require(URL(string: address)))
            for try await answer in group { #expect(answer.hasSuffix("welcome"), "\(answer)") }
        }
        #expect(api.person.setup.provider.count(of: .authorization) == 1)
        tool.interrupt()
    }

    @Test func renewsATokenThatTheServerTookBack() async throws {
        let refused = Shared("")
        let api = try await ForwardedAPI { _, token in
            token == refused.value ? LoopbackResponse(status: 401, text: "ended") : nil
        }
        let token = try await api.person.login("api")
        refused.withLock { $0 = token }
        api.person.setup.provider.forgetRequests()
        let tool = try await api.start()
        let place = try await api.place()
        try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<20 { group.addTask { try await api.get(place, "POST /v1/messages") } }
            for try await answer in group { #expect(answer.hasSuffix("welcome"), "\(answer)") }
        }
        #expect(api.person.setup.provider.count(of: .token) == 1)
        tool.interrupt()
    }

    @Test func replacesThePhantomWhileItRuns() async throws {
        let api = try await ForwardedAPI()
        try await api.person.login("api")
        let tool = try await api.start()
        let old = try await api.place()
        #expect(try await api.get(old).hasSuffix("welcome"))
        let replaced = try await api.person.run(["forward", "new-phantom", "api", "--json"])
        #expect(replaced.status == 0 && replaced.output.hasPrefix("{\"done\":"), "\(replaced)")
        let new = try await api.place()
        #expect(new.port == old.port && new.phantom != old.phantom)
        #expect(try await api.get(old).hasPrefix("HTTP/1.1 401 phantom-wrong\r\n"))
        #expect(try await api.get(new).hasSuffix("welcome"))
        #expect(try ForwardedAPI.get(atSocket: new.socket).hasSuffix("welcome"))
        tool.interrupt()
    }

    @Test func showsItsRoutesAndEnds() async throws {
        let api = try await ForwardedAPI()
        for command in ["status", "stop"] {
            let none = try await api.person.run(["forward", command])
            #expect(none.status == 1 && none.output.isEmpty, "\(none)")
            #expect(none.errors.contains("No forwarder runs here."), "\(none)")
        }
        let tool = try await api.start()
        let place = try await api.place()
        let client = try RawConnection(port: place.port)
        client.send("GET / HTTP/1.1\r\n")
        let row = "api\thttp://127.0.0.1:\(place.port)/v1\t\(api.address)\t1\n"
        #expect(try await eventually { try await api.person.run(["forward", "status"]).output == row })
        let status = try await api.person.run(["forward", "status", "--json"])
        #expect(status.output.contains("\"route\":\"api\"") && !status.output.contains("fwd_"), "\(status)")
        let second = try await api.person.run(["forward"])
        #expect(second.status == 1 && second.errors.contains("To end it: identityctl forward stop"), "\(second)")
        let plain = try await api.person.run(["forward", "address", "api"])
        #expect(plain.output.contains("address\thttp://127.0.0.1:\(place.port)/v1\n"), "\(plain)")
        #expect(!plain.output.contains("fwd_"))
        tool.interrupt()
        #expect(try await tool.outcome().status == 0)
        #expect(try await api.place().port == place.port)
    }

    /// A program would talk to whoever has the port.
    @Test func movesToNoOtherPort() async throws {
        let taken = try ListeningSockets.open(hosts: [.ipv4], port: 0)
        let api = try await ForwardedAPI("forward-port = \(taken.port)")
        let refused = try await api.person.run(["forward", "--profile", "api"])
        #expect(refused.status == 1, "\(refused)")
        #expect(refused.errors.contains("port \(taken.port) is used by another program"), "\(refused)")
        #expect(refused.errors.contains("identityctl profile set api forward-port=NUMBER"), "\(refused)")
        withExtendedLifetime(taken) {}
    }

    @Test func refusesAProfileThatItCannotServe() async throws {
        let api = try await ForwardedAPI("agent-confirm = always")
        let named = try await api.person.run(["forward", "--profile", "api"])
        #expect(named.status == 64 && named.errors.contains("as the line 'agent-confirm' wants"), "\(named)")
        let all = try await api.person.run(["forward"])
        #expect(all.status == 64 && all.errors.contains("nothing is passed on for the profile 'api'"), "\(all)")
        let other = try await api.person.run(["forward", "--profile", "work"])
        #expect(other.status == 64 && other.errors.contains("has no line 'forward'"), "\(other)")
        let set = try await api.person.run(["profile", "set", "work", "forward=https://elsewhere.test"])
        #expect(set.status == 64 && set.errors.contains("serves+=https://elsewhere.test"), "\(set)")
    }

    @Test func tellsTheServiceManagerThatItListens() async throws {
        let api = try await ForwardedAPI()
        let manager = try ServiceManager("\(api.person.home)/notify")
        let tool = try await api.start(having: ["NOTIFY_SOCKET": manager.name])
        #expect(try await tool.poll("a message") { manager.message() } == "READY=1")
        tool.interrupt()
        #expect(try await tool.outcome().status == 0)
        #expect(manager.message() == "STOPPING=1")
    }

    /// The agent has the sign-in; the lines about the forwarder stand here.
    @Test func asksAnAgentThatIsNamed() async throws {
        let api = try await ForwardedAPI()
        let token = try await api.person.login("api")
        let socket = "\(api.person.home)/run/agent.sock"
        let agent = try Tool(["agent", "--socket", socket], api.person.variables)
        _ = try await agent.errorLine { $0.hasPrefix("The agent listens.") }
        let tool = try await api.start(having: ["IDENTITYCTL_AGENT": socket])
        let place = try await api.place()
        #expect(try await api.get(place).hasSuffix("welcome"))
        #expect(api.requests.last?.headers["Authorization"] == "Bearer \(token)")
        #expect(try await Tool.run(["agent", "lock"], ["IDENTITYCTL_AGENT": socket]).status == 0)
        #expect(
            try await eventually { try await api.get(place).hasPrefix("HTTP/1.1 503 agent-locked\r\n") }
        )
        tool.interrupt()
        agent.interrupt()
    }
}
