// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import IdentityClient

extension TestIdentityProvider {
    /// What a program in this process needs to sign in here: the provider's authority, transport and clock, and the browser
    /// with its receiver.
    ///
    /// ```swift
    /// let provider = try TestIdentityProvider(clock: ManualClock())
    /// let browser = ScriptedBrowser(provider: provider, receiver: InMemoryRedirectReceiver())
    /// let app = try PublicClientApplication(provider.configuration(browser: browser))
    /// ```
    ///
    /// - Parameters:
    ///   - browser: Who signs in. The loopback interface is used where it was made without a receiver.
    ///   - clientID: One that the provider knows; `provider.add(_:)` makes others known.
    ///   - cache: Where tokens rest; a new one in memory unless given.
    public func configuration(
        browser: ScriptedBrowser,
        clientID: ClientID = "test-client",
        cache: any TokenCache = InMemoryTokenCache()
    ) -> PublicClientApplication.Configuration {
        var configuration = PublicClientApplication.Configuration(
            clientID: clientID,
            authority: authority,
            cache: cache
        )
        configuration.transport = transport
        configuration.browser = browser
        if let receiver = browser.receiver { configuration.redirectReceiver = receiver }
        configuration.clock = clock
        return configuration
    }
}
