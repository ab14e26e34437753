// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

// Not compiled: `.testTarget(`: lines of a manifest.
import IdentityResources
import IdentityTesting
import Testing

let clock = ManualClock()
var provider: TestIdentityProvider { fatalError() }
var browser: ScriptedBrowser { fatalError() }
var signIn: ResourceSignIn {
    get { fatalError() }
    set {}
}
