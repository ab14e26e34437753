// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

// Returns: AuthenticationResult
struct Settings {
    var accountID: String?
}
let settings = Settings()
var signedInPage: URL { url }
var failedPage: URL { url }

func showTimeLeft(until end: ContinuousClock.Instant) {}
func comeToTheFront() {}
