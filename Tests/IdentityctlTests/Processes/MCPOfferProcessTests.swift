// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IdentityTesting
import LoopbackHTTP
import OAuthWire
import Testing

@testable import identityctl

/// The page of a sign-in, offered through a host that shows addresses.
@Suite(.serialized, .timeLimit(.minutes(1)))
final class MCPOfferProcessTests {
    private let browser = BrowserStandIn()
    private let server: MCPServer

    init() throws {
        server = try MCPServer { _, message, _ in
            guard message.string("method") == "initialize" else { return nil }
            return MCPServer.json(message["id"], #"{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}"#)
        }
    }

    /// - Parameter more: Variables, in place of those of a desktop.
    private func person(_ more: [String: String] = [:]) async throws -> Person {
        var person = try await Person(serves: server.address)
        let desktop = [
            "DISPLAY": ":99", "XDG_RUNTIME_DIR": person.home, "IDENTITYCTL_BROWSER": try browser.command,
            "IDENTITYCTL_TIMEOUT": "50", "IDENTITYCTL_PRINT_TOKEN": "",
        ]
        person.variables.merge(desktop.merging(more) { $1 }) { $1 }
        return person
    }

    /// Starts a bridge of a host that shows addresses, and calls a tool.
    private func call(_ person: Person) throws -> Tool {
        let bridge = try server.bridge(person)
        let capabilities = #""capabilities":{"elicitation":{"form":{},"url":{}}}"#
        try bridge.type(
            #"{"id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",\#(capabilities)}}"#
        )
        try bridge.type(MCPServer.initialized)
        try call(bridge, 1)
        return bridge
    }

    private func call(_ bridge: Tool, _ id: Int) throws {
        try bridge.type(#"{"id":\#(id),"method":"tools/call","params":{"name":"echo"}}"#)
    }

    /// The offer with a number.
    private func offer(_ bridge: Tool, _ number: Int = 0) async throws -> JSONObject {
        try await bridge.poll("an offer; so far: \(bridge.text)") {
            let offers = try? bridge.messages.filter { $0.string("method") == "elicitation/create" }
            return offers.flatMap { $0.count > number ? $0[number] : nil }
        }
    }

    private func answer(_ offer: JSONObject, _ action: String, _ bridge: Tool) throws {
        try bridge.type(#"{"id":"\#(offer.string("id") ?? "")","result":{"action":"\#(action)"}}"#)
    }

    /// Opens an offered address, as a host does.
    private func open(_ offer: JSONObject, _ bridge: Tool) async throws {
        try browser.open(try #require(offer.object("params")?.string("url")))
        try await visit(bridge)
    }

    private func visit(_ bridge: Tool) async throws {
        let address = try await bridge.poll("a page") { browser.address }
        try await ScriptedBrowser(provider: nil).visit(try #require(URL(string: address)))
    }

    private func text(_ answer: JSONObject) -> String { answer.object("error")?.string("message") ?? "" }

    /// Also without a display: the host is where the person is.
    @Test(arguments: [[:], ["DISPLAY": ""], ["SSH_CONNECTION": "192.0.2.1 1 192.0.2.2 22"]])
    func opensThePageThroughTheHost(_ more: [String: String]) async throws {
        let person = try await person(more)
        let bridge = try call(person)
        let offer = try await offer(bridge)
        let params = try #require(offer.object("params"))
        #expect(params.string("mode") == "url" && params.string("message")?.contains(server.address) == true)
        try answer(offer, "accept", bridge)
        // To open the page is no sign-in.
        #expect(try bridge.messages.allSatisfy { $0.integer("id") != 1 } && server.requests.isEmpty)
        #expect(browser.address == nil)
        try await open(offer, bridge)
        #expect(try await bridge.answer(1)["result"] != nil)
        let complete = try bridge.messages.first { $0.string("method") == "notifications/elicitation/complete" }
        #expect(complete?.object("params")?["elicitationId"] == params["elicitationId"])
        // The host's answers are not for the server.
        #expect(!server.requests.contains { String(decoding: $0.body, as: UTF8.self).contains("action") })
    }

    @Test(arguments: [("decline", true), ("cancel", false)])
    func aNoIsANo(action: String, isNoted: Bool) async throws {
        let person = try await person()
        let bridge = try call(person)
        let offer = try await offer(bridge)
        // A person takes some time.
        let later = ContinuousClock.now + .seconds(1)
        _ = try await bridge.poll("a second") { ContinuousClock.now > later ? () : nil }
        try answer(offer, action, bridge)
        let first = text(try await bridge.answer(1))
        #expect(first.contains("identityctl login --profile work"), "\(first)")
        #expect(first.contains("no browser is opened for ten minutes") == isNoted, "\(first)")
        #expect(browser.address == nil && person.setup.provider.count(of: .authorization) == 0)
        try call(bridge, 2)
        if isNoted {
            let text = text(try await bridge.answer(2))
            #expect(text.contains("identityctl login --profile work"), "\(text)")
            #expect(text.contains("no browser is opened for ten minutes"), "\(text)")
        } else {
            let second = try await self.offer(bridge, 1)
            try answer(second, "accept", bridge)
            try await open(second, bridge)
            #expect(try await bridge.answer(2)["result"] != nil)
        }
    }

    /// Codex, and hosts without a person, refuse by themselves.
    @Test(arguments: [#""result":{"action":"decline"}"#, #""error":{"code":-32601,"message":"no"}"#])
    func opensTheBrowserIfTheHostRefusesByItself(_ answer: String) async throws {
        let person = try await person()
        let bridge = try call(person)
        let offer = try await offer(bridge)
        try bridge.type(#"{"id":"\#(offer.string("id") ?? "")",\#(answer)}"#)
        try await visit(bridge)
        let found = try await bridge.answer(1)
        #expect(found["result"] != nil, "\(text(found))")
        #expect(try bridge.messages.count { $0.string("method") == "elicitation/create" } == 1)
        #expect(person.setup.provider.count(of: .authorization) == 1)
    }

    @Test func offersThePageOfASignInThatAnotherBridgeBegan() async throws {
        let person = try await person()
        let first = try call(person)
        let address = try await offer(first).object("params")?.string("url")
        #expect(first.interrupt(by: SIGKILL))
        let second = try call(person)
        let offer = try await offer(second)
        #expect(offer.object("params")?.string("url") == address)
        try answer(offer, "accept", second)
        try await open(offer, second)
        #expect(try await second.answer(1)["result"] != nil)
        #expect(person.setup.provider.count(of: .authorization) == 1)
    }

    /// The place of the page is named by the sign-in that leaves it.
    @Test(arguments: ["../work", "..", "/tmp", ""])
    func leavesNoPageElsewhere(name: String) async throws {
        let person = try await person()
        let outcome = try await person.run(["mcp", "--page=\(name)", "http://127.0.0.1:1/x"])
        #expect(outcome.status == 64, "\(outcome)")
    }
}
