// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import ArgumentParser
import CAdwaita
public import IdentityClient
import IdentityWebView

/// The place where the sign-in page is shown.
public enum PageChoice: String, ExpressibleByArgument, CaseIterable, Sendable {
    /// In the system's browser, which has the person's session, passwords and passkeys.
    case browser
    /// In a window of the program.
    case embedded
}

extension PublicClientApplication.Configuration {
    /// Configures the browser for `page` and the receiver for the redirect URI. Set the redirect URI first.
    public mutating func show(_ page: PageChoice) {
        let program = g_get_application_name().map { String(cString: $0) } ?? clientID.rawValue
        guard page == .embedded else {
            let isLoopback = (try? redirectURI.addressWithoutListener())?.scheme == "http"
            redirectReceiver =
                isLoopback
                ? LoopbackRedirectReceiver(applicationName: program, texts: .translated)
                : CustomSchemeRedirectReceiver()
            return
        }
        // By default, the window opens over the active window of the running application.
        let window = WebViewPresenter(title: tr("Sign in to {0}", program))
        browser = window
        redirectReceiver = window
    }
}
