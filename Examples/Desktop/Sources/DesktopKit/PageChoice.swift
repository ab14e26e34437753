// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import ArgumentParser
import CAdwaita
public import IdentityClient
import IdentityWebView

/// Where the sign-in page is shown.
public enum PageChoice: String, ExpressibleByArgument, CaseIterable, Sendable {
    /// In the system's browser, which has the person's session, passwords and passkeys.
    case browser
    /// In a window that belongs to the program's.
    case embedded
}

extension PublicClientApplication.Configuration {
    /// Has the sign-in page shown where `page` says, and the redirect taken as its address demands. Set that first.
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
        // By itself it opens over the active window of the application that runs.
        let window = WebViewPresenter(title: tr("Sign in to {0}", program))
        browser = window
        redirectReceiver = window
    }
}
