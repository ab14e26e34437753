// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import IdentityClient

extension TestIdentityProvider {
    /// A configuration for a program in this process that signs in here: the provider's authority, transport and clock,
    /// and the browser with its receiver.
    ///
    /// ```swift
    /// let provider = try TestIdentityProvider(clock: ManualClock())
    /// let browser = ScriptedBrowser(provider: provider, receiver: InMemoryRedirectReceiver())
    /// let app = try PublicClientApplication(provider.configuration(browser: browser))
    /// ```
    ///
    /// - Parameters:
    ///   - browser: The browser that signs in. The loopback interface is used if it was made without a receiver.
    ///   - clientID: A client ID that the provider knows; `provider.add(_:)` registers others.
    ///   - cache: The cache for the tokens; a new one in memory unless given.
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
