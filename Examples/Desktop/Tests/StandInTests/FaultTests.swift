// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import IdentityClient
import IdentityResources
import StandIn
import Testing

@Suite(.timeLimit(.minutes(1)))
struct FaultTests {
    @Test func failsAsPlannedAndIsRightAgain() async throws {
        let standIn = try await StandIn.start()
        defer { standIn.stop() }
        let (_, token) = try await Caller.graph(standIn)
        standIn.faults.add(.init(.throttled, of: .graph, seconds: 7))
        standIn.faults.add(.init(.unavailable, of: .graph, times: 2))
        standIn.faults.add(.init(.unauthorized, of: .graph))
        standIn.faults.add(.init(.broken, of: .tasks))
        var answers: [Answer] = []
        for _ in 0..<5 { answers.append(try await standIn.send("/v1.0/me", token: token.accessToken)) }
        #expect(answers.map(\.status) == [429, 503, 503, 401, 200])
        #expect(answers[0].headers[.retryAfter] == "7")
        #expect(answers[3].headers[.wwwAuthenticate]?.contains("claims=") == false)
    }

    @Test func demandsClaimsUntilATokenWasAskedForWithThem() async throws {
        let standIn = try await StandIn.start()
        defer { standIn.stop() }
        let (caller, token) = try await Caller.graph(standIn)
        standIn.faults.add(.init(.claimsChallenge, of: .graph))
        var answer = try await standIn.send("/v1.0/me", token: token.accessToken)
        for _ in 0..<2 {
            #expect(answer.status == 401)
            answer = try await standIn.send("/v1.0/me", token: token.accessToken)
        }
        let challenge = try #require(answer.headers[.wwwAuthenticate])
        #expect(challenge.contains(#"error="insufficient_claims""#))
        let base64 = try #require(challenge.split(separator: #"claims=""#).last?.prefix { $0 != "\"" })
        let claims = String(decoding: try #require(Data(base64Encoded: String(base64))), as: UTF8.self)

        var parameters = SilentParameters(scopes: ["User.Read"], account: token.account)
        parameters.claims = claims
        let stronger = try await caller.application.acquireTokenSilently(parameters)
        #expect(try await standIn.send("/v1.0/me", token: stronger.accessToken).status == 200)
        #expect(try await standIn.send("/v1.0/me", token: token.accessToken).status == 401)
        standIn.faults.clear()
        #expect(try await standIn.send("/v1.0/me", token: token.accessToken).status == 200)
    }

    @Test func demandsThePersonForASecondFactor() async throws {
        let standIn = try await StandIn.start()
        defer { standIn.stop() }
        let (caller, token) = try await Caller.graph(standIn)
        standIn.faults.add(.init(.secondFactor, of: .graph))
        let graph = AuthenticatedClient(application: caller.application, account: token.account, scopes: ["User.Read"])
        let me = standIn.addresses.graph.appending(path: "me")
        let error = await #expect(throws: AuthenticationError.self) { try await graph.get(me) }
        #expect(error?.family == .interactionRequired)

        var parameters = InteractiveParameters(scopes: ["User.Read"])
        parameters.account = token.account
        parameters.claims = try #require(error?.claims)
        _ = try await caller.application.acquireTokenInteractively(parameters)
        #expect(try await graph.get(me).response.status == .ok)
    }

    @Test func letsAnotherProcessPlanButNoWebPage() async throws {
        let standIn = try await StandIn.start()
        defer { standIn.stop() }
        let (_, token) = try await Caller.tasks(standIn)
        let plan = #"{"service":"tasks","fault":"broken"}"#
        #expect(try await standIn.send("/stand-in/faults", .post, type: "text/plain", plan).status == 415)
        #expect(try await standIn.send("/api/tasks", token: token.accessToken).status == 200)
        #expect(try await standIn.send("/stand-in/faults", .post, plan).status == 204)
        #expect(try await standIn.send("/api/tasks", token: token.accessToken).status == 500)
        #expect(try await standIn.send("/stand-in/faults", .post, #"{"service":"x"}"#).status == 400)
    }

    @Test func tellsAnotherProcessItsAddresses() async throws {
        let standIn = try await StandIn.start()
        defer { standIn.stop() }
        let found = try await StandIn.Addresses(at: standIn.addresses.root)
        #expect(found == standIn.addresses)
        #expect(try found.b2cAuthority(policy: "b2c_1_edit") == standIn.addresses.b2cAuthority(policy: "b2c_1_edit"))
        let nobody = try #require(URL(string: "http://127.0.0.1:9"))
        let error = await #expect(throws: AuthenticationError.self) { try await StandIn.Addresses(at: nobody) }
        #expect(error?.family == .network)
    }
}
