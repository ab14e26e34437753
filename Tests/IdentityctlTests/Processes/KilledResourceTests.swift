// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IdentityTesting
import Testing

/// Programs that die in the middle of the first sign-in at a server that does not know them. `Scripts/soak` repeats it.
@Suite(.serialized, .timeLimit(.minutes(30)))
struct KilledResourceTests {
    private static let rounds = ProcessInfo.processInfo.environment["IDENTITY_SOAK_REPETITIONS"].flatMap(Int.init) ?? 2

    /// The next event: a page opens in a browser, or the server has had so many requests.
    private enum Event {
        case page(Int, URL)
        case requests
    }

    @Test func aDeathAtAnyMomentLosesNoSignIn() async throws {
        var (rounds, deaths) = (0, 0)
        // On a busy machine each may be done before it is killed: then there are more rounds.
        while rounds < Self.rounds || deaths == 0 {
            rounds += 1
            let setup = try ToolSetup()
            setup.provider.settings.resource = TestIdentityProvider.Resource(scopes: ["read"])
            setup.provider.settings.registersClients = true
            setup.provider.settings.requiresOfflineAccess = false
            // The API goes on to accept a token that is too old to be handed out, so that afterwards a refresh is due.
            setup.provider.failAlways(.token, with: .changing("expires_in", to: "1"))
            let url = setup.provider.resourceAddress
            let variables = [
                "HOME": setup.directory.path, "XDG_RUNTIME_DIR": setup.directory.path, "DISPLAY": ":99",
                "IDENTITYCTL_CACHE": "file:\(setup.directory.path)/cache", "IDENTITYCTL_BROWSER": BrowserStandIn.name,
            ]
            deaths += try await killThree(of: (0..<4).map { _ in try Tool(["call", url], variables) }, setup.provider)

            while try await Tool.run(["token", "--cache-only", "--resource", url], variables).status == 0 {}
            setup.provider.failAlways(.token, with: nil)
            setup.provider.forgetRequests()
            let tools = try (0..<20).map { _ in try Tool(["call", url], variables) }
            for tool in tools {
                let outcome = try await tool.outcome()
                #expect(outcome.status == 0 && !tool.hasOpenedBrowser, "\(outcome.errors)")
            }
            #expect(setup.provider.count(of: .token) == 1)
            #expect(setup.provider.count(of: .registration) == 0)
        }
        print("RESOURCES \(rounds) sign-ins, \(deaths) deaths")
        fflush(nil)
    }

    /// Kills three tools, each once the server has had some more requests, and signs in on each page that opens until the
    /// fourth is done.
    private func killThree(of tools: [Tool], _ provider: TestIdentityProvider) async throws -> Int {
        var living = Set(tools.indices)
        var visited: Set<Int> = []
        // What a dead program had registered and may not have stored. It stores before it opens a page.
        var lost = 0
        var deaths = 0
        while living.count > 1 {
            let moment = provider.requests.count + Int.random(in: 0...2)
            let event = try await tools[0].poll("a page or a request") {
                for index in living.subtracting(visited) {
                    if let page = tools[index].openedAddress.flatMap(URL.init) { return Event.page(index, page) }
                }
                return provider.requests.count >= moment ? .requests : nil
            }
            if case .page(let index, let page) = event, Bool.random() {
                visited.insert(index)
                try await ScriptedBrowser(provider: nil).visit(page)
                continue
            }
            guard let victim = living.randomElement() else { break }
            living.remove(victim)
            guard tools[victim].interrupt(by: SIGKILL) else { continue }  // It was done.
            deaths += 1
            let isStored = tools.contains { $0.openedAddress != nil }
            if !isStored { lost = max(lost, provider.count(of: .registration)) }
        }
        for index in living {
            if !visited.contains(index) {
                let page = try await tools[index].poll("a page or the end") { () -> URL?? in
                    tools[index].openedAddress.map { URL(string: $0) } ?? (tools[index].hasEnded ? .some(nil) : nil)
                }
                if let page { try await ScriptedBrowser(provider: nil).visit(page) }
            }
            let outcome = try await tools[index].outcome()
            #expect(outcome.status == 0, "\(outcome.errors)")
        }
        #expect(provider.count(of: .registration) <= lost + 1)
        return deaths
    }
}
