// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Testing

@testable import IdentityClient

@Suite struct SilentRequestTests {
    private func request(
        account: String = "a",
        authority: String = "https://h",
        scopes: [String] = ["one", "two"],
        claims: String? = nil,
        isForced: Bool = false,
        minimumValidity: Int64 = 0
    ) throws -> SilentRequest {
        SilentRequest(
            id: RecordID(partition: "p", accountID: account),
            authority: try .openIDConnect(issuer: authority),
            scopes: scopes,
            claims: claims,
            isForced: isForced,
            need: CredentialRequest(scopes: Set(scopes.map(Scope.init(rawValue:))), minimumValidity: minimumValidity)
        )
    }

    @Test func sharesARefreshWithTheSameScopesInAnotherOrder() throws {
        #expect(try request() == request(scopes: ["two", "one"]))
        // A scope that steers the sign-in changes no token.
        #expect(try request() == request(scopes: ["one", "two", "openid"]))
    }

    @Test func sharesNoRefreshThatAsksForSomethingElse() throws {
        let others = [
            try request(account: "b"), try request(authority: "https://g"), try request(scopes: ["one"]),
            try request(claims: "{}"), try request(isForced: true), try request(minimumValidity: 1),
        ]
        for other in others { #expect(try request() != other) }
    }
}
