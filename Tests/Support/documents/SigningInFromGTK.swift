// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityGLib

struct Spinner: Sendable {
    var isSpinning = false
}
nonisolated(unsafe) var spinner = Spinner()
nonisolated(unsafe) var task: Task<AuthenticationResult, any Error>?
let way = "direct://"
func offerToCopy(_ address: String) {}
func bringToFront() {}
