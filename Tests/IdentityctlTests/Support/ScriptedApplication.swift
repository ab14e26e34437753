// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityTesting

extension TestIdentityProvider {
    /// A program that signs in at this provider, with a scripted browser.
    func application() throws -> PublicClientApplication {
        var configuration = ClientConfiguration(
            clientID: "test-client",
            authority: authority,
            cache: InMemoryTokenCache()
        )
        let receiver = InMemoryRedirectReceiver()
        configuration.transport = transport
        configuration.browser = ScriptedBrowser(provider: self, receiver: receiver)
        configuration.redirectReceiver = receiver
        return try PublicClientApplication(configuration)
    }
}
