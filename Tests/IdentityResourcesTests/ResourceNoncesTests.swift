// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Testing

@testable import IdentityResources

@Suite struct ResourceNoncesTests {
    private func answer(_ nonce: String) throws -> HTTPResponse {
        let name = try #require(HTTPField.Name("Authentication-Info"))
        return HTTPResponse(status: .ok, headerFields: [name: "nextnonce=\"\(nonce)\""])
    }

    /// A client that is led from origin to origin keeps no nonce of each.
    @Test func keepsFewNonces() throws {
        let nonces = ResourceNonces()
        for number in 0..<21 { nonces.note(try answer("n\(number)"), from: "https://\(number).test") }
        let kept = (0..<21).filter { nonces.nonce(for: "https://\($0).test") != nil }
        #expect(kept.count <= 20 && kept.contains(20))
        nonces.note(try answer("newer"), from: "https://20.test")
        #expect(nonces.nonce(for: "https://20.test") == "newer")
    }
}
