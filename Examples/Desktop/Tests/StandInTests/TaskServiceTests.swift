// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityClient
import IdentityTesting
import StandIn
import Testing

@Suite(.timeLimit(.minutes(1)))
struct TaskServiceTests {
    private func items(_ standIn: StandIn, _ token: AuthenticationResult) async throws -> [[String: Any]] {
        let answer = try await standIn.send("/api/tasks", token: token.accessToken)
        #expect(answer.status == 200)
        return try #require(try JSONSerialization.jsonObject(with: answer.body) as? [[String: Any]])
    }

    private func tasks(_ standIn: StandIn, _ token: AuthenticationResult) async throws -> [String] {
        try await items(standIn, token).map { "\($0["Text"] ?? "")\($0["Completed"] as? Bool == true ? " ✓" : "")" }
    }

    /// The format of Microsoft's sample: `TaskService` of active-directory-b2c-dotnet-webapp-and-webapi.
    @Test func speaksTheSamplesFormat() async throws {
        let standIn = try await StandIn.start()
        defer { standIn.stop() }
        let (_, alice) = try await Caller.tasks(standIn)
        let form = "Text=O%27Neill+anrufen%21&x=1"
        let type = "application/x-www-form-urlencoded"
        let added = try await standIn.send("/api/tasks", .post, token: alice.accessToken, type: type, form)
        #expect(added.status == 204 && added.body.isEmpty)
        let task = try #require(try await items(standIn, alice).first)
        #expect(task.keys.sorted() == ["Completed", "DateModified", "Id", "Owner", "Text"])
        #expect(task["Id"] as? Int == 0 && task["Completed"] as? Bool == false)
        #expect(task["Text"] as? String == "O'Neill anrufen!")
        #expect(try await standIn.send("/api/tasks/0", .delete, token: alice.accessToken).status == 204)
        #expect(try await items(standIn, alice).isEmpty)
        let refused = try await standIn.send("/api/tasks", .post, token: alice.accessToken, "{}")
        #expect(try refused.value("Message") == "The body is not the JSON that is expected here.")
    }

    @Test func keepsAListForEachPerson() async throws {
        let standIn = try await StandIn.start()
        defer { standIn.stop() }
        let (_, alice) = try await Caller.tasks(standIn)
        let (_, bob) = try await Caller.tasks(standIn, as: .bob)
        for text in [" 牛乳を買う ", "O'Neill anrufen!"] {
            let body = #"{"Text":"\#(text)"}"#
            #expect(try await standIn.send("/api/tasks", .post, token: alice.accessToken, body).status == 204)
        }
        let id = try #require(try await items(standIn, alice).first?["Id"] as? Int)
        let done = #"{"Completed":true}"#
        #expect(try await standIn.send("/api/tasks/\(id)", .put, token: bob.accessToken, done).status == 404)
        #expect(try await standIn.send("/api/tasks/\(id)", .delete, token: bob.accessToken).status == 204)
        #expect(try await standIn.send("/api/tasks/\(id)", .put, token: alice.accessToken, done).status == 204)
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
        for body in [#"{"Text":"  "}"#, #"{"Text":"\#(long)"}"#, "{}", "Text=x"] {
            #expect(try await standIn.send("/api/tasks", .post, token: token.accessToken, body).status == 400)
        }
        #expect(try await tasks(standIn, token).isEmpty)
    }

    @Test func wantsATokenThatPermitsIt() async throws {
        let standIn = try await StandIn.start()
        defer { standIn.stop() }
        let scope: Scope = "https://contoso.onmicrosoft.com/tasks/tasks.read"
        let (_, reader) = try await Caller.tasks(standIn, scopes: [scope])
        #expect(try await tasks(standIn, reader).isEmpty)
        #expect(try await standIn.send("/api/tasks", .post, token: reader.accessToken, #"{"Text":"x"}"#).status == 403)
        let (_, stranger) = try await Caller.graph(standIn)
        #expect(try await standIn.send("/api/tasks", token: stranger.accessToken).status == 401)
    }

    @Test func resetsAForgottenPassword() async throws {
        let standIn = try await StandIn.start()
        defer { standIn.stop() }
        var person = TestIdentityProvider.Person.alice
        person.password = "a new one"
        let caller = try Caller(standIn, at: standIn.addresses.b2cAuthority(policy: "b2c_1_susi"), as: person)
        caller.browser.behaviour = .forgetPassword
        let scopes: Set<Scope> = [Scope(rawValue: standIn.addresses.clientID.rawValue)]
        let error = await #expect(throws: AuthenticationError.self) {
            try await caller.application.acquireTokenInteractively(scopes: scopes)
        }
        #expect(error?.code == .passwordResetRequired)
        var parameters = InteractiveParameters(scopes: scopes)
        parameters.authority = try standIn.addresses.b2cAuthority(policy: "b2c_1_reset")
        let reset = try await caller.application.acquireTokenInteractively(parameters)
        #expect(try await tasks(standIn, reset).isEmpty)

        let (_, signedIn) = try await Caller.tasks(standIn, as: person)
        #expect(signedIn.account.id == reset.account.id)
    }
}
