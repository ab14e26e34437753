// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Testing

@testable import IdentityClient

/// The errors after which an expired token may be handed out.
@Suite struct OutageTests {
    @Test(
        arguments: [
            (.connectionFailed, true), (.networkTimedOut, true), (.serverUnavailable, true), (.throttled, true),
            (.tlsFailed, false), (.signInExpired, false), (.clientNotRegistered, false),
        ] as [(AuthenticationError.Code, Bool)]
    )
    func tellsAnOutageByItsCode(code: AuthenticationError.Code, isOutage: Bool) {
        let error = AuthenticationError(code, "Text.")
        #expect(error.isOutage == isOutage)
        // A pause after the same error five times is an outage if that error was one.
        #expect(AuthenticationError(.requestLoop, "Text.", underlyingError: error).isOutage == isOutage)
    }

    @Test func takesTheProvidersOwnRequestLoopForNone() {
        #expect(!AuthenticationError(.requestLoop, "Text.").isOutage)
    }
}
