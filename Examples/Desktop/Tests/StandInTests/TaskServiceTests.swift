// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityClient
import IdentityTesting
import StandIn
import Testing

@Suite(.timeLimit(.minutes(1)))
struct TaskServiceTests {
    private func tasks(_ standIn: StandIn, _ token: AuthenticationResult) async throws -> [String] {
        let answer = try await standIn.send("/tasks", token: token.accessToken)
        let items = try #require(try JSONSerialization.jsonObject(with: answer.body) as? [[String: Any]])
        return items.map { "\($0["text"] ?? "")\($0["isDone"] as? Bool == true ? " ✓" : "")" }
    }

    @Test func keepsAListForEachPerson() async throws {
        let standIn = try await StandIn.start()
        defer { standIn.stop() }
        let (_, alice) = try await Caller.tasks(standIn)
        let (_, bob) = try await Caller.tasks(standIn, as: .bob)
        let added = try await standIn.send("/tasks", .post, token: alice.accessToken, #"{"text":" 牛乳を買う "}"#)
        #expect(added.status == 201)
        let form = "text=O%27Neill+anrufen%21&x=1"
        let type = "application/x-www-form-urlencoded"
        #expect(try await standIn.send("/tasks", .post, token: alice.accessToken, type: type, form).status == 201)

        let id: String = try added.value("id")
        let done = #"{"isDone":true}"#
        #expect(try await standIn.send("/tasks/\(id)", .patch, token: bob.accessToken, done).status == 404)
        #expect(try await standIn.send("/tasks/\(id)", .patch, token: alice.accessToken, done).status == 200)
        #expect(try await tasks(standIn, alice) == ["牛乳を買う ✓", "O'Neill anrufen!"])
        #expect(try await tasks(standIn, bob) == [])

        let (_, again) = try await Caller.tasks(standIn)
        #expect(try await tasks(standIn, again).count == 2)
    }

    @Test func refusesWhatIsNoTask() async throws {
        let standIn = try await StandIn.start()
        defer { standIn.stop() }
        let (_, token) = try await Caller.tasks(standIn)
        let long = String(repeating: "x", count: 501)
        for body in [#"{"text":"  "}"#, #"{"text":"\#(long)"}"#, "{}", "text=x"] {
            #expect(try await standIn.send("/tasks", .post, token: token.accessToken, body).status == 400)
        }
        #expect(try await tasks(standIn, token).isEmpty)
    }

    @Test func wantsATokenThatPermitsIt() async throws {
        let standIn = try await StandIn.start()
        defer { standIn.stop() }
        let scope: Scope = "https://contoso.onmicrosoft.com/tasks/tasks.read"
        let (_, reader) = try await Caller.tasks(standIn, scopes: [scope])
        #expect(try await tasks(standIn, reader).isEmpty)
        #expect(try await standIn.send("/tasks", .post, token: reader.accessToken, #"{"text":"x"}"#).status == 403)
        let (_, stranger) = try await Caller.graph(standIn)
        #expect(try await standIn.send("/tasks", token: stranger.accessToken).status == 401)
    }

    @Test func resetsAForgottenPassword() async throws {
        let standIn = try await StandIn.start()
        defer { standIn.stop() }
        var person = TestIdentityProvider.Person.alice
        person.password = "a new one"
        let caller = try Caller(standIn, at: standIn.b2cAuthority(policy: "b2c_1_susi"), as: person)
        caller.browser.behaviour = .forgetPassword
        let scopes: Set<Scope> = [Scope(rawValue: standIn.clientID.rawValue)]
        let error = await #expect(throws: AuthenticationError.self) {
            try await caller.application.acquireTokenInteractively(scopes: scopes)
        }
        #expect(error?.code == .passwordResetRequired)
        var parameters = InteractiveParameters(scopes: scopes)
        parameters.authority = try standIn.b2cAuthority(policy: "b2c_1_reset")
        let reset = try await caller.application.acquireTokenInteractively(parameters)
        #expect(try await tasks(standIn, reset).isEmpty)

        let (_, signedIn) = try await Caller.tasks(standIn, as: person)
        #expect(signedIn.account.id == reset.account.id)
    }
}
