// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire
import Testing

@testable import IdentityClient

/// RFC 8628 §3.5
@Suite struct DevicePollingTests {
    private func refusal(
        _ error: String,
        _ code: AuthenticationError.Code = .configuration
    ) -> EndpointOutcome<TokenResponse> {
        .refused(AuthenticationError(code, "", serverError: ServerError(error: error)))
    }

    @Test func slowsDownForGood() throws {
        var pace = DevicePolling(interval: 5)
        #expect(pace.wait == .seconds(5))
        try pace.note(refusal("authorization_pending"))
        #expect(pace.wait == .seconds(5))
        try pace.note(refusal("slow_down"))
        #expect(pace.wait == .seconds(10))
        try pace.note(refusal("authorization_pending"))
        #expect(pace.wait == .seconds(10))
        try pace.note(refusal("slow_down"))
        #expect(pace.wait == .seconds(15))
    }

    @Test func doublesWhileNobodyAnswersAndRecovers() throws {
        var pace = DevicePolling(interval: 5)
        let silence = EndpointOutcome<TokenResponse>.ambiguous(AuthenticationError(.networkTimedOut, ""))
        var waits: [Duration] = []
        for _ in 0..<6 {
            try pace.note(silence)
            waits.append(pace.wait)
        }
        #expect(waits == [10, 20, 40, 60, 60, 60].map { .seconds($0) })
        try pace.note(refusal("authorization_pending"))
        #expect(pace.wait == .seconds(5))
        var slow = DevicePolling(interval: 90)
        try slow.note(silence)
        #expect(slow.wait == .seconds(90))
    }

    @Test func honoursRetryAfter() throws {
        var pace = DevicePolling(interval: 5)
        let error = AuthenticationError(.throttled, "", retryAfter: .seconds(42))
        try pace.note(.refused(error))
        #expect(pace.wait == .seconds(42))
        try pace.note(refusal("slow_down"))
        #expect(pace.wait == .seconds(10))
    }

    @Test(arguments: ["access_denied", "expired_token", "invalid_grant", "invalid_client"])
    func endsWithAnyOtherRefusal(_ error: String) {
        var pace = DevicePolling(interval: 5)
        #expect(throws: AuthenticationError.self) { try pace.note(refusal(error)) }
    }
}
