// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

#if WebView
import CWebKitGTK
import FoundationEssentials

/// The window of one sign-in: a private web view with the origin of the page above it.
// Reviewed exception: created anywhere, but shown and used on the GTK main context only.
final class PageWindow: @unchecked Sendable {
    struct Page: Sendable {
        /// The first address of the sign-in.
        var address: String
        var redirect: RedirectAddress
        var redirectURI: URL
    }

    enum Event: Sendable {
        /// The page requested the redirect URI.
        case redirect(URL)
        /// The window was closed, by the person or by the program.
        case gone
    }

    let page: Page
    let texts: WebViewPresenter.Texts
    private let title: String
    private let report: @Sendable (Event) -> Void
    /// The widgets while the window is shown.
    private(set) var widgets: PageWidgets?
    /// The origin of the page on display, not of a page that is still loading.
    private(set) var origin: PageOrigin?
    /// The content of the window.
    private(set) var state = State.page

    /// The notice about the page's last refused request.
    private(set) var noticeText: String?
    /// Whether the next page gets the keyboard focus, so that a person can begin to type.
    private var wantsFocus = true

    enum State: Hashable {
        case page
        /// The redirect was received, and the program is working.
        case finishing
        /// The reason why the page cannot be shown. The person can start again.
        case problem(String)
    }

    init(
        title: String,
        texts: WebViewPresenter.Texts,
        page: Page,
        report: @escaping @Sendable (Event) -> Void
    ) {
        self.title = title
        self.texts = texts
        self.page = page
        self.report = report
    }

    /// Opens the window over `parent`, a `GtkWindow`, and begins to load.
    func show(over parent: OpaquePointer?) {
        guard let widgets = PageWidgets(title: title, texts: texts, parent: parent) else { return report(.gone) }
        self.widgets = widgets
        connect(widgets)
        gtk_window_present(widgets.window)
        load()
    }

    /// Closes the window for good.
    func close() {
        guard let widgets else { return }
        gtk_window_destroy(widgets.window)
    }

    /// Shows the page again, after a redirect that was not the answer.
    func goOn() {
        show(.page)
    }

    /// Loads the first page of the sign-in, also after a problem: forms cannot be sent twice, and the session is still
    /// there.
    func load() {
        guard let widgets else { return }
        show(.page)
        wantsFocus = true
        webkit_web_view_load_uri(widgets.view, page.address)
    }

    func goBack() {
        guard let widgets else { return }
        webkit_web_view_go_back(widgets.view)
    }

    // MARK: WebKit's events

    /// Decides about a navigation. The decision is carried out before this returns.
    func decide(_ navigation: Navigation, _ decision: UnsafeMutablePointer<WebKitPolicyDecision>) {
        let outcome = navigation.decision(redirect: page.redirect)
        guard outcome != .load else { return webkit_policy_decision_use(decision) }
        webkit_policy_decision_ignore(decision)
        switch outcome {
        case .load: break
        case .loadHere: if let widgets { webkit_web_view_load_uri(widgets.view, navigation.address) }
        case .redirect(let url): finish(with: url)
        case .unreadableAnswer:
            show(.problem(texts.unreadable))
        case .refuse:
            notice(texts.filled(texts.notOpened, PageOrigin(navigation.address)))
        }
    }

    func committed(_ address: String) {
        origin = PageOrigin(address)
        widgets?.showOrigin(origin)
        guard state != .finishing else { return }
        show(.page)
        guard wantsFocus, let widgets else { return }
        wantsFocus = false
        gtk_widget_grab_focus(widgets.view.cast())
    }

    func titled(_ title: String) {
        guard OutOfBandTitle.isAsked(by: page.redirectURI.absoluteString), state != .finishing,
            let origin, origin == PageOrigin(page.address),
            let url = OutOfBandTitle.redirect(in: title, to: page.redirectURI.absoluteString)
        else { return }
        finish(with: url)
    }

    func failed(_ reason: String) {
        guard state != .finishing else { return }
        show(.problem(reason))
    }

    func notice(_ text: String?) {
        noticeText = text
        widgets?.showNotice(text)
    }

    /// Handles that GTK is destroying the window.
    func gone() {
        guard let widgets else { return }
        self.widgets = nil
        disconnect(widgets)
        widgets.release()
        report(.gone)
    }

    private func finish(with url: URL) {
        show(.finishing)
        report(.redirect(url))
    }

    private func show(_ state: State) {
        self.state = state
        widgets?.show(state)
    }
}
#endif
