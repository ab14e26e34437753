// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import IdentityClient
import Testing

@testable import identityctl

@Suite struct APIRefusalTests {
    private func refusal(_ status: Int, _ fields: HTTPFields) -> APIRefusal {
        APIRefusal(HTTPResponse(status: .init(code: status), headerFields: fields), now: 0)
    }

    @Test func saysWhichScopeIsMissing() throws {
        let refusal = refusal(403, [.wwwAuthenticate: #"Bearer error="insufficient_scope", scope="a b""#])
        #expect(refusal.details == [#"The API said: error="insufficient_scope", scope="a b""#])
    }

    @Test func saysWhereARedirectLeads() {
        let refusal = refusal(302, [.location: "https://b.example.test/x"])
        #expect(
            refusal.details
                == ["It redirects to https://b.example.test/x, which is followed for GET and HEAD only."]
        )
        #expect(self.refusal(201, [.location: "/x"]).location == nil)
    }

    @Test func saysHowLongToWait() {
        #expect(refusal(503, [.retryAfter: "7"]).details == ["Try again in 7 s."])
        #expect(refusal(503, [.retryAfter: "soon"]).details.isEmpty)
    }

    @Test func showsATerminalWhatItWouldObey() {
        let refusal = refusal(302, [.location: "/\u{9B}2J"])
        #expect(refusal.details.allSatisfy { $0 == $0.printable })
    }
}
