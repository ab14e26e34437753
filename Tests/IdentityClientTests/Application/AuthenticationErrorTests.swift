// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import IdentityClient
import Testing

@Suite struct AuthenticationErrorTests {
    private static let then = Date(timeIntervalSince1970: 1_764_000_000.9)
    private static let id = UUID(uuidString: "C970D58C-7429-4D47-AE01-2903778D98CA")

    /// A program's own transport that throws an error with an older time.
    private struct Broken: HTTPTransport {
        func send(_ request: HTTPRequest, body: [UInt8]?) async throws -> (HTTPResponse, [UInt8]) {
            throw AuthenticationError(.connectionFailed, "Broken.", timestamp: AuthenticationErrorTests.then)
        }
    }

    @Test func endsWithWhatSupportAsksFor() {
        let plain = AuthenticationError(.network, "Down.", timestamp: Self.then)
        #expect("\(plain)" == "Down. [network; 2025-11-24T16:00:00Z]")
        let full = AuthenticationError(
            .consentRequired,
            "Agree.",
            serverError: ServerError(error: "invalid_grant", suberror: "consent_required"),
            correlationID: Self.id,
            timestamp: Self.then
        )
        #expect(
            "\(full)" == "Agree. [interaction_required.consent; invalid_grant/consent_required; "
                + "correlation c970d58c-7429-4d47-ae01-2903778d98ca; 2025-11-24T16:00:00Z]"
        )
    }

    @Test func knowsWhenItWasMade() {
        let before = Date()
        let error = AuthenticationError(.network, "Down.")
        #expect(error.timestamp >= before && error.timestamp <= Date())
    }

    @Test func keepsItsTimeWhereTheLibraryHandsItOn() async throws {
        let context = Fixture.context
        let client = EndpointClient(transport: Broken())
        let error = await #expect(throws: AuthenticationError.self) {
            _ = try await client.get("https://id.example.test/", context: context, authority: try .entra())
        }
        #expect(error?.code == .connectionFailed && error?.correlationID == context.correlationID)
        #expect(error?.timestamp == Self.then)
    }
}
