// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

#if WebView
extension WebViewPresenter {
    /// The window's own texts; English by default. The window's title is a parameter of the presenter.
    ///
    /// ```swift
    /// var texts = WebViewPresenter.Texts()
    /// texts.tryAgain = "Erneut versuchen"
    /// let window = WebViewPresenter(title: "Anmelden", texts: texts)
    /// ```
    public struct Texts: Hashable, Sendable {
        /// The name of the button that returns to the page before.
        public var back = "Back"
        /// The button that starts again after a problem.
        public var tryAgain = "Try Again"
        /// Shown while the program fetches the tokens.
        public var finishing = "Finishing…"
        /// The name of the bar that shows how much of a page is loaded.
        public var loading = "Loading"
        /// The lock of a page that came over TLS.
        public var encrypted = "The connection is encrypted"
        /// The open lock of a page of this computer.
        public var local = "This page comes from this computer"
        /// A page could not be loaded: `{address}` is its origin, and `{reason}` is WebKit's, in the desktop's language.
        public var notLoaded = "{address} could not be loaded: {reason}."
        /// A page's certificate is not trusted; `{address}` is its origin.
        public var untrusted = "The certificate of {address} is not trusted, so nothing was sent there."
        /// The process that draws the page has ended.
        public var stopped = "The page stopped working."
        /// The provider has answered with a form post.
        public var unreadable = "The provider answered with a form, which this window cannot read."
        /// An address was refused; `{address}` is its origin.
        public var notOpened = "Not opened: {address}"
        /// A download was refused.
        public var noDownloads = "Files are not downloaded here."
        /// Takes the place of `{address}` where there is none of a page.
        public var otherAddress = "an address of another kind"

        /// Creates the English texts.
        public init() {}

        /// Fills in an origin, which begins with a scheme and therefore cannot contain the other place.
        func filled(_ text: String, _ origin: PageOrigin?, reason: String = "") -> String {
            text.replacing("{address}", with: origin?.description ?? otherAddress).replacing("{reason}", with: reason)
        }
    }
}
#endif
