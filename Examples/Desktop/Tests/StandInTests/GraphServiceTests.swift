// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import IdentityClient
import StandIn
import Testing

@Suite(.timeLimit(.minutes(1)))
struct GraphServiceTests {
    private func users(_ filter: String) throws -> String {
        let allowed = CharacterSet.alphanumerics
        return "/v1.0/users?$filter=\(try #require(filter.addingPercentEncoding(withAllowedCharacters: allowed)))"
    }

    private func names(_ answer: Answer) throws -> [String] {
        let people: [[String: Any]] = try answer.value("value")
        return people.compactMap { $0["displayName"] as? String }
    }

    @Test func tellsWhoAsks() async throws {
        let standIn = try await StandIn.start()
        defer { standIn.stop() }
        let (_, token) = try await Caller.graph(standIn)
        let answer = try await standIn.send("/v1.0/me", token: token.accessToken)
        #expect(answer.status == 200)
        #expect(try answer.value("displayName") == "Alice Example")
        #expect(try answer.value("userPrincipalName") == token.account.username)
    }

    @Test func listsFiveHundredPeoplePageByPage() async throws {
        let standIn = try await StandIn.start()
        defer { standIn.stop() }
        let (_, token) = try await Caller.graph(standIn)
        var target = "/v1.0/users?$top=70"
        var people: [String] = []
        var pages = 0
        while true {
            let answer = try await standIn.send(target, token: token.accessToken)
            let page: [[String: Any]] = try answer.value("value")
            people += page.compactMap { $0["id"] as? String }
            pages += 1
            guard let next: String = try? answer.value("@odata.nextLink") else { break }
            let url = try #require(URLComponents(string: next))
            #expect(next.hasPrefix(standIn.addresses.graph.absoluteString + "/users?"))
            target = "\(url.percentEncodedPath)?\(try #require(url.percentEncodedQuery))"
        }
        #expect(people.count == 500 && Set(people).count == 500)
        #expect(pages == 8)
    }

    @Test(
        arguments: [
            ("startswith(givenName,'alic')", ["Alice Example"]),
            ("startswith(givenName, 'さく')", ["さくら 佐藤"]),
            ("startswith(surname,'O''Ne')", nil),
            ("startswith(givenName,'Nobody')", []),
        ] as [(String, [String]?)]
    )
    func findsPeopleByTheBeginningOfAName(filter: String, expected: [String]?) async throws {
        let standIn = try await StandIn.start()
        defer { standIn.stop() }
        let (_, token) = try await Caller.graph(standIn)
        let found = try names(try await standIn.send(users(filter), token: token.accessToken))
        if let expected {
            #expect(found == expected)
        } else {
            #expect(found.contains("Máire O'Neill") && found.allSatisfy { $0.hasSuffix("O'Neill") })
        }
    }

    @Test(arguments: [
        "startswith(givenName,'O'Neill')", "startswith(givenName,'x", "startswith(password,'x')",
        "endswith(givenName,'x')", "startswith(givenName,'x') or true",
    ])
    func refusesAFilterThatWasNotEscaped(filter: String) async throws {
        let standIn = try await StandIn.start()
        defer { standIn.stop() }
        let (_, token) = try await Caller.graph(standIn)
        let answer = try await standIn.send(users(filter), token: token.accessToken)
        #expect(answer.status == 400)
        let message: String = try answer.value("error", "message")
        #expect(message == "Invalid filter clause: \(filter).")
    }

    @Test func followsAPageOfAFilter() async throws {
        let standIn = try await StandIn.start()
        defer { standIn.stop() }
        let (_, token) = try await Caller.graph(standIn)
        let all = try await standIn.send(users("startswith(surname,'O''Neill')"), token: token.accessToken)
        let first = try await standIn.send(
            users("startswith(surname,'O''Neill')") + "&$top=2",
            token: token.accessToken
        )
        let url = try #require(URLComponents(string: try first.value("@odata.nextLink")))
        let second = try await standIn.send(
            "\(url.percentEncodedPath)?\(try #require(url.percentEncodedQuery))",
            token: token.accessToken
        )
        #expect(try names(first) + names(second) == Array(names(all).prefix(4)))
    }

    @Test func wantsATokenOfItsOwnProviderWithTheRightScope() async throws {
        let standIn = try await StandIn.start()
        defer { standIn.stop() }
        let (_, stranger) = try await Caller.tasks(standIn)
        for token in [nil, "at-guessed", stranger.accessToken] {
            let answer = try await standIn.send("/v1.0/me", token: token)
            #expect(answer.status == 401)
            let challenge = try #require(answer.headers[.wwwAuthenticate])
            #expect(challenge.hasPrefix("Bearer ") && challenge.contains(#"error="invalid_token""#))
        }
        let (_, token) = try await Caller.graph(standIn, scopes: ["User.Read"])
        #expect(try await standIn.send("/v1.0/me", token: token.accessToken).status == 200)
        #expect(try await standIn.send("/v1.0/users", token: token.accessToken).status == 403)
        standIn.entra.revokeSessions(of: .alice)
        #expect(try await standIn.send("/v1.0/me", token: token.accessToken).status == 401)
    }

    @Test func leavesTheWholeDirectoryToAdministrators() async throws {
        let standIn = try await StandIn.start()
        defer { standIn.stop() }
        let caller = try Caller(standIn, at: standIn.addresses.authority)
        let error = await #expect(throws: AuthenticationError.self) {
            try await caller.application.acquireTokenInteractively(scopes: ["Directory.Read.All"])
        }
        #expect(error?.code == .adminConsentRequired)
    }
}
