// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import IdentityTesting
import LoopbackHTTP
import Testing

@testable import IdentityClient

/// The `User-Agent` that providers and APIs receive.
@Suite(.timeLimit(.minutes(1)))
struct UserAgentTests {
    private static let library = "swift-identity-client/\(LibraryVersion.current)"

    /// The `User-Agent` that each endpoint received. The browser's requests are not the library's.
    private func names(_ stage: Stage) -> [TestIdentityProvider.Endpoint: String?] {
        let own: [TestIdentityProvider.Endpoint] = [.discovery, .keys, .token]
        let requests = stage.provider.requests.filter { own.contains($0.endpoint) }
        return Dictionary(requests.map { ($0.endpoint, $0.header("User-Agent")) }) { first, _ in first }
    }

    @Test func providersAreToldTheLibrary() async throws {
        let stage = try Stage()
        _ = try await stage.signedIn()
        #expect(names(stage) == [.discovery: Self.library, .keys: Self.library, .token: Self.library])
    }

    @Test func providersAreToldTheProgramWhereItNamesItself() async throws {
        let stage = try Stage()
        _ = try await stage.signedIn { $0.extraHeaderFields = [HTTPField(name: .userAgent, value: "todo/2")] }
        #expect(names(stage) == [.discovery: "todo/2", .keys: "todo/2", .token: "todo/2"])
    }

    @Test(arguments: [(nil, library), ("todo/2", "todo/2")] as [(String?, String)])
    func anAPIIsToldTheLibraryUnlessTheProgramNamesItself(_ own: String?, _ told: String) async throws {
        let stage = try Stage()
        let (client, _) = try await stage.resourceClient()
        let server = try ResourceServer(answering: "done")
        var request = HTTPRequest(.get, to: try server.url("/"))
        request.headerFields[.userAgent] = own
        _ = try await client.send(request)
        #expect(server.requests.map { $0.headers["User-Agent"] } == [told])
    }
}
