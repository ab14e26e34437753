// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import IdentityClient
import IdentityResources
import IdentityTestSupport
import IdentityTesting
import LoopbackHTTP
import Testing

/// The steps of the guide *Calling an API*, exactly as written there.
@Suite(.timeLimit(.minutes(1)))
struct CallingAnAPIGuideTests {
    private struct Person: Decodable {
        let displayName: String
    }

    @Test func theStepsOfTheGuideWork() async throws {
        let setup = try TestSetup()
        let (app, result) = try await setup.signedIn()
        let directory = try TemporaryDirectory()
        let server = try ResourceServer { request in
            switch request.path {
            case "/users": .json(#"{"value":[{"displayName":"Zoë O'Brien"}]}"#)
            case "/photo": LoopbackResponse(status: 200, body: .bytes([1, 2, 3]))
            default: LoopbackResponse(status: 200, text: "\(request.method) \(request.body.count)")
            }
        }
        let api = AuthenticatedClient(
            application: app,
            account: result.account,
            scopes: ["api.read"],
            transport: CurlTransport()
        )

        // An apostrophe and a combining sign are one character, and OData still sees the apostrophe.
        let name = "O'\u{301}Brien".unicodeScalars.map { $0 == "'" ? "''" : String($0) }.joined()
        let request = HTTPRequest(
            .get,
            to: try server.url("/users"),
            query: ["$filter": "startswith(givenName,'\(name)')"],
            headerFields: [.accept: "application/json"]
        )
        var list: [Person] = []
        for try await page in api.pages(from: request) {
            list.append(contentsOf: try page.values(of: Person.self))
            if list.count >= 100 { break }
        }
        #expect(list.map(\.displayName) == ["Zoë O'Brien"])
        #expect(name.utf8.elementsEqual("O''\u{301}Brien".utf8))

        let note = HTTPRequest(.post, to: try server.url("/notes"))
        let answer = try await api.send(note, body: .json(Array(#"{"text":"Buy milk"}"#.utf8)))
        #expect(answer.response.status == .ok && text(answer.body) == "POST 19")

        let photo = try server.url("/photo")
        let transfer = api.download(HTTPRequest(.get, to: photo), to: directory.path + "/photo.jpg")
        var fraction: Double?
        for await progress in transfer.progress { fraction = progress.fraction }
        let (response, body) = try await transfer.value
        #expect(response.status == .ok && body.isEmpty && fraction == 1)

        let form = RequestBody.multipart([
            .field("text", "A photo"), .file("photo", path: directory.path + "/photo.jpg"),
        ])
        #expect(try await api.send(note, body: form).response.status == .ok)

        let (_, pieces) = try await api.stream(HTTPRequest(.get, to: photo))
        var bytes: [UInt8] = []
        for try await piece in pieces { bytes += piece }
        #expect(bytes == [1, 2, 3])
    }

    /// The interactive step, with the claims of the challenge.
    @Test func theChallengesClaimsGoIntoTheSignIn() async throws {
        let setup = try TestSetup()
        let (client, token) = try await setup.resourceClient()
        let challenge = "Bearer error=\"insufficient_claims\", claims=\"eyJhIjoxfQ\""
        let server = try ResourceServer { request in
            request.headers["Authorization"] == token ? .unauthorized(challenge) : LoopbackResponse(status: 200)
        }
        setup.provider.failNext(.token, with: .refusal("interaction_required"))
        let url = try server.url()
        do {
            _ = try await client.get(url)
            Issue.record("nothing was thrown")
        } catch let error as AuthenticationError where error.family == .interactionRequired {
            let parameters = error.interactiveParameters(scopes: client.scopes, account: client.account)
            _ = try await client.application.acquireTokenInteractively(parameters)
        }
        let asked = try #require(setup.provider.requests.last { $0.endpoint == .authorization })
        #expect(asked["claims"] == #"{"a":1}"#)
        #expect(try await client.get(url).response.status == .ok)
    }
}
