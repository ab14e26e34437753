// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import IdentityTesting
import OAuthWire
import Testing

@testable import IdentityClient

/// Requests with a proof of a key.
///
/// - SeeAlso: RFC 9449 §4 and §8
@Suite(.timeLimit(.minutes(1)))
struct ProvenRequestTests {
    struct TooMany: Error {}

    private let clock = ManualClock(now: Date(timeIntervalSince1970: Double(Fixture.now)))
    private let client: EndpointClient
    private let key = DPoPKey()

    init() {
        client = EndpointClient(transport: ScriptedTransport([]), clock: clock)
    }

    /// Returns the claims of the proofs, one for each request.
    private func proofs(
        to url: String,
        answered answer: (Int) -> (status: Int, nonce: String?, date: String?)
    ) async throws -> [JSONObject] {
        var claims: [JSONObject] = []
        _ = try await client.proving(key, .post, url, Fixture.context) { proof in
            let parts = try #require(proof).split(separator: ".").map(String.init)
            claims.append(try JSONObject(parsing: try #require(Base64URL.decode(parts[1]))))
            guard claims.count < 10 else { throw TooMany() }
            let (status, nonce, date) = answer(claims.count)
            var response = HTTPResponse(status: HTTPResponse.Status(code: status))
            response.headerFields[.dpopNonce] = nonce
            response.headerFields[.date] = date
            return (response, Array((status == 200 ? "{}" : #"{"error":"use_dpop_nonce"}"#).utf8))
        }
        return claims
    }

    @Test func answersADemandOnceThoughEachRefusalHasANewNonce() async throws {
        let sent = try await proofs(to: "https://a.example/token") { (400, "n-\($0)", nil) }
        #expect(sent.map { $0.string("nonce") } == [nil, "n-1"])
    }

    @Test func showsEachServerItsOwnNonce() async throws {
        _ = try await proofs(to: "https://a.example/token") { _ in (200, "of-a", nil) }
        _ = try await proofs(to: "https://b.example/token") { _ in (200, "of-b", nil) }
        for (url, nonce) in [
            ("https://a.example/x", "of-a"), ("https://b.example/x", "of-b"), ("https://a.example:8443/x", nil),
        ] {
            #expect(try await proofs(to: url) { _ in (200, nil, nil) }.map { $0.string("nonce") } == [nonce], "\(url)")
        }
    }

    /// The program's clock, moved to the server's, but by a day at most.
    @Test(
        arguments: [
            ("Tue, 14 Nov 2023 22:14:20 GMT", 60), ("Tue, 14 Nov 2023 22:12:20 GMT", -60),
            ("Wed, 15 Nov 2023 22:13:20 GMT", 86_400), ("Wed, 15 Nov 2023 22:13:21 GMT", 0),
            ("Mon, 13 Nov 2023 22:13:19 GMT", 0), ("Fri, 31 Dec 9999 23:59:59 GMT", 0),
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("soon", 0), (nil, 0),
        ] as [(String?, Int64)]
    )
    func believesAServersTimeWithinADay(_ date: String?, _ offset: Int64) async throws {
        let first = try await proofs(to: "https://a.example/token") { _ in (200, nil, date) }
        #expect(first.map { $0.integer("iat") } == [Int(Fixture.now)])
        clock.advance(by: .seconds(10))
        let second = try await proofs(to: "https://a.example/token") { _ in (200, nil, nil) }
        #expect(second.map { $0.integer("iat") } == [Int(Fixture.now + 10 + offset)])
    }

    /// A constant for a field's name is that name.
    @Test func namesItsFields() {
        let names: [HTTPField.Name] = [.dpop, .dpopNonce, .clientRequestID, .returnClientRequestID]
        #expect(names.map(\.rawName) == ["DPoP", "DPoP-Nonce", "client-request-id", "return-client-request-id"])
    }
}
