// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import IdentityClient
import IdentityResources
import IdentityTestSupport
import IdentityTesting
import LoopbackHTTP
import Testing

/// Collections that come in pages.
@Suite(.timeLimit(.minutes(1)))
struct ResourcePagesTests {
    private struct Person: Decodable, Hashable {
        let name: String
    }

    /// `pages` pages of two people each.
    private func directory(pages: Int) throws -> ResourceServer {
        try ResourceServer { request in
            let page = request.query?.split(separator: "=").last.flatMap { Int($0) } ?? 1
            let host = request.headers["Host"] ?? ""
            let next = page < pages ? #""@odata.nextLink":"http://\#(host)/users?page=\#(page + 1)","# : ""
            return .json(#"{\#(next)"value":[{"name":"a\#(page)"},{"name":"b\#(page)","x":[[[[[1]]]]]}]}"#)
        }
    }

    private func linking(to link: String) throws -> ResourceServer {
        try ResourceServer { _ in .json(#"{"value":[],"@odata.nextLink":"\#(link)"}"#) }
    }

    @Test func readsPageByPageWithTheToken() async throws {
        let setup = try TestSetup()
        let (client, token) = try await setup.resourceClient()
        let server = try directory(pages: 3)
        var people: [Person] = []
        var links: [URL?] = []
        for try await page in client.pages(from: try server.url("/users")) {
            people += try page.values()
            links.append(page.nextLink)
            // No page is fetched before it is requested.
            #expect(server.requests.count == people.count / 2)
        }
        #expect(people.map(\.name) == ["a1", "b1", "a2", "b2", "a3", "b3"])
        #expect(try links == [server.url("/users?page=2"), server.url("/users?page=3"), nil])
        #expect(server.authorizations == [token, token, token])
        #expect(server.requests.map(\.target) == ["/users", "/users?page=2", "/users?page=3"])
    }

    @Test func asksEveryPageWithTheRequestsFields() async throws {
        let setup = try TestSetup()
        let (client, _) = try await setup.resourceClient()
        let server = try directory(pages: 2)
        let level = try #require(HTTPField.Name("ConsistencyLevel"))
        let request = HTTPRequest(
            .get,
            to: try server.url("/users"),
            query: ["$filter": "startswith(givenName,'O''Brien & Söhne')"],
            headerFields: [level: "eventual"]
        )
        for try await _ in client.pages(from: request) {}
        #expect(server.requests.map { $0.headers["ConsistencyLevel"] } == ["eventual", "eventual"])
        let filter = "%24filter=startswith%28givenName%2C%27O%27%27Brien%20%26%20S%C3%B6hne%27%29"
        #expect(server.requests[0].query == filter)
    }

    @Test func neverAsksAnotherOrigin() async throws {
        let setup = try TestSetup()
        let (client, _) = try await setup.resourceClient()
        let other = try directory(pages: 1)
        let server = try linking(to: other.origin + "/users")
        var pages = 0
        let error = try await expectError(.malformedResponse) {
            for try await _ in client.pages(from: try server.url()) { pages += 1 }
        }
        #expect(other.requests.isEmpty && server.requests.count == 1 && error.message.contains("another address"))
        #expect(pages == 1)
    }

    /// A fetched page is returned even if its link is refused. The next step throws the error, once.
    @Test func givesThePageWhoseLinkIsRefused() async throws {
        let setup = try TestSetup()
        let (client, _) = try await setup.resourceClient()
        let server = try directory(pages: 100)
        var pages = client.pages(from: try server.url("/users"), limit: 2).makeAsyncIterator()
        #expect(try await pages.next()?.values(of: Person.self).map(\.name) == ["a1", "b1"])
        #expect(try await pages.next()?.values(of: Person.self).map(\.name) == ["a2", "b2"])
        let error = await #expect(throws: AuthenticationError.self) { try await pages.next() }
        #expect(error?.code == .malformedResponse && error?.message.contains("more pages") == true)
        #expect(try await pages.next()?.body == nil)
        #expect(server.requests.count == 2)
    }

    @Test(arguments: ["http://user@127.0.0.1/", "mailto:x", "//evil.example/", "https://127.0.0.1/", "/a b"])
    func refusesALinkThatIsNotTheOriginsOwn(link: String) async throws {
        let setup = try TestSetup()
        let (client, _) = try await setup.resourceClient()
        let server = try linking(to: link)
        try await expectError(.malformedResponse) { for try await _ in client.pages(from: try server.url()) {} }
    }

    @Test func endsACircle() async throws {
        let setup = try TestSetup()
        let (client, _) = try await setup.resourceClient()
        let server = try ResourceServer { request in
            .json(#"{"value":[],"@odata.nextLink":"\#(request.path == "/a" ? "/b" : "/a")"}"#)
        }
        try await expectError(.malformedResponse) { for try await _ in client.pages(from: try server.url("/a")) {} }
        #expect(server.requests.count == 2)
    }

    @Test func endsAtTheLimit() async throws {
        let setup = try TestSetup()
        let (client, _) = try await setup.resourceClient()
        let server = try directory(pages: 100)
        try await expectError(.malformedResponse) {
            for try await _ in client.pages(from: try server.url("/users"), limit: 4) {}
        }
        #expect(server.requests.count == 4)
    }

    @Test func throwsTheAnswerThatIsNoPage() async throws {
        let setup = try TestSetup()
        let (client, _) = try await setup.resourceClient()
        let server = try ResourceServer { _ in LoopbackResponse(status: 404, text: "gone") }
        let error = try await #require(throws: UnexpectedResponse.self) {
            for try await _ in client.pages(from: try server.url()) {}
        }
        #expect(error.response.status == .notFound && text(error.body) == "gone" && !"\(error)".contains("gone"))
    }

    @Test(arguments: ["", "[]", "<html>", #"{"@odata.nextLink":1}"#])
    func throwsAPageThatIsNotJSON(body: String) async throws {
        let setup = try TestSetup()
        let (client, _) = try await setup.resourceClient()
        let server = try ResourceServer { _ in .json(body) }
        try await expectError(.malformedResponse) { for try await _ in client.pages(from: try server.url()) {} }
    }

    @Test func throwsMembersOfAnotherType() async throws {
        let setup = try TestSetup()
        let (client, _) = try await setup.resourceClient()
        let server = try ResourceServer { _ in .json(#"{"value":[{"title":"x"}]}"#) }
        try await expectError(.malformedResponse) {
            for try await page in client.pages(from: try server.url()) { _ = try page.values(of: Person.self) }
        }
    }
}
