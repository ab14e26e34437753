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

extension ClientConfiguration {
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
        let window = WebViewPresenter(title: tr("Sign in to {0}", program), texts: .translated)
        browser = window
        redirectReceiver = window
    }
}

extension WebViewPresenter.Texts {
    /// The texts of the page's window, in the person's language if there is a translation.
    static var translated: WebViewPresenter.Texts {
        var texts = WebViewPresenter.Texts()
        texts.back = tr("Back")
        texts.tryAgain = tr("Try Again")
        texts.finishing = tr("Finishing the sign-in…")
        texts.loading = tr("Loading…")
        texts.encrypted = tr("The connection is encrypted")
        texts.local = tr("This page comes from this computer")
        texts.notLoaded = tr("{address} could not be loaded: {reason}.")
        texts.untrusted = tr("The certificate of {address} is not trusted, so nothing was sent there.")
        texts.stopped = tr("The page stopped working.")
        texts.unreadable = tr("The provider answered with a form, which this window cannot read.")
        texts.notOpened = tr("Not opened: {address}")
        texts.noDownloads = tr("Files are not downloaded here.")
        texts.otherAddress = tr("an address of another kind")
        return texts
    }
}
