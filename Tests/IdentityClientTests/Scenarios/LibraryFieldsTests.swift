// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Testing

/// The header fields that tell Microsoft's services which library asks.
@Suite(.timeLimit(.minutes(1)))
struct LibraryFieldsTests {
    private static let names: Set = [
        "x-client-sku", "x-client-ver", "x-client-os", "x-client-cpu", "x-ms-lib-capability",
    ]

    @Test(
        arguments: [
            (.entra, true), (.externalID, true), (.b2c, true), (.adfs, false), (.openIDConnect, false),
        ] as [(TestIdentityProvider.Profile, Bool)]
    )
    func goToMicrosoftsServicesOnly(_ profile: TestIdentityProvider.Profile, _ isSent: Bool) async throws {
        let setup = try TestSetup(profile)
        let (application, first) = try await setup.signedIn()
        setup.clock.advance(by: .seconds(3600))
        _ = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        let tokens = setup.provider.requests.filter { $0.endpoint == .token }
        #expect(tokens.count == 2)
        // The browser asks for the pages.
        let pages: [TestIdentityProvider.Endpoint] = [.authorization, .interaction]
        for request in setup.provider.requests where !pages.contains(request.endpoint) {
            let fields = request.headers.filter { Self.names.contains($0.name.lowercased()) }
            #expect(Set(fields.map { $0.name.lowercased() }) == (isSent ? Self.names : []), "\(request.url)")
            guard isSent else { continue }
            #expect(fields.first { $0.name.lowercased() == "x-client-sku" }?.value == "swift-identity-client")
            #expect(fields.first { $0.name.lowercased() == "x-ms-lib-capability" }?.value == "retry-after, h429")
        }
    }
}
