// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import IdentityResources
import IdentityTestSupport
import IdentityTesting
import LoopbackHTTP
import Testing

@testable import IdentityClient

/// The `User-Agent` that providers and APIs receive.
@Suite(.timeLimit(.minutes(1)))
struct UserAgentTests {
    private static let library = "swift-identity-client/\(LibraryVersion.current)"

    /// Returns the name that each endpoint received. It leaves out endpoints that the browser calls.
    private func names(_ setup: TestSetup) -> [TestIdentityProvider.Endpoint: String?] {
        let own: [TestIdentityProvider.Endpoint] = [.discovery, .keys, .token]
        let requests = setup.provider.requests.filter { own.contains($0.endpoint) }
        return Dictionary(requests.map { ($0.endpoint, $0.header("User-Agent")) }) { first, _ in first }
    }

    @Test func providersAreToldTheLibrary() async throws {
        let setup = try TestSetup()
        _ = try await setup.signedIn()
        #expect(names(setup) == [.discovery: Self.library, .keys: Self.library, .token: Self.library])
    }

    @Test func providersAreToldTheProgramWhereItNamesItself() async throws {
        let setup = try TestSetup()
        _ = try await setup.signedIn { $0.extraHeaderFields = [HTTPField(name: .userAgent, value: "todo/2")] }
        #expect(names(setup) == [.discovery: "todo/2", .keys: "todo/2", .token: "todo/2"])
    }

    @Test(arguments: [(nil, library), ("todo/2", "todo/2")] as [(String?, String)])
    func anAPIIsToldTheLibraryUnlessTheProgramNamesItself(_ own: String?, _ told: String) async throws {
        let setup = try TestSetup()
        let (client, _) = try await setup.resourceClient()
        let server = try ResourceServer(answering: "done")
        var request = HTTPRequest(.get, to: try server.url("/"))
        request.headerFields[.userAgent] = own
        _ = try await client.send(request)
        #expect(server.requests.map { $0.headers["User-Agent"] } == [told])
    }
}
