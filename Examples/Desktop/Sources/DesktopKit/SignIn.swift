// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient

/// A row that is shown while the person is on the sign-in page, or while an answer takes long. It tells what is waited
/// for, and has a way to cancel and, for a page in the browser, the address to copy.
///
/// While the person is on the sign-in page, *Cancel* has the keyboard focus, described with what is waited for. An answer
/// that takes long is announced, and the focus stays where the person works.
@MainContext
public final class SignInBar {
    /// The widget for the window, hidden at first.
    public let widget: FlowBox
    private let page: PageChoice
    private let onShow: @MainContext (Bool) -> Void
    private let spinner = Spinner()
    private let text = Label().selectable()
    private let explanation = Label().styled("dim-label", "caption")
    private let cancelButton: Button
    /// The widget that had the focus before the sign-in page was shown.
    private var previous: Widget?
    private lazy var copyButton = Button(icon: "edit-copy-symbolic", hint: tr("Copy the page's address")) {
        [weak self] in
        if let address = self?.address { Desktop.copy(address) }
    }
    private var address: String? { didSet { copyButton.isSensitive = address != nil } }
    /// The last page that was shown, by number. A page that another one has replaced no longer changes the row.
    private var number = 0
    private var hasPage = false { didSet { showOrHide() } }

    /// Whether other work takes long, and may be cancelled.
    public var isWaiting = false { didSet { showOrHide() } }

    /// Whether the row is shown.
    public var isShown: Bool { hasPage || isWaiting }

    /// Creates a hidden row.
    ///
    /// - Parameters:
    ///   - page: The place where the page is shown.
    ///   - onShow: Called when the row appears, and when it disappears: the key that cancels works in between.
    ///   - cancel: Called when the person gives up.
    public init(
        _ page: PageChoice,
        onShow: @escaping @MainContext (Bool) -> Void,
        cancel: @escaping @MainContext () -> Void
    ) {
        self.page = page
        self.onShow = onShow
        cancelButton = Button(tr("_Cancel"), cancel)
        let buttons = Box.row(spacing: 12).aligned(horizontally: .end, vertically: .center)
        let texts = Box.column(spacing: 2, text, explanation).expanding().aligned(vertically: .center)
        widget = FlowBox(spacing: 12, Box.row(spacing: 12, spinner, texts).expanding(), buttons)
        buttons.append(copyButton.styled("flat"))
        buttons.append(cancelButton)
        copyButton.isVisible = false
        widget.isVisible = false
    }

    /// Signs a person in on the page, and shows the row meanwhile.
    ///
    /// - Throws: The errors of `acquireTokenInteractively(_:)`.
    public func signIn(
        with application: PublicClientApplication,
        _ parameters: InteractiveParameters
    ) async throws -> AuthenticationResult {
        var parameters = parameters
        parameters.whenPending = .supersede
        let number = beginPage()
        defer { endPage(number) }
        if page == .browser {
            // A browser that does not open is not a failure, because the person can copy the address.
            parameters.onAuthorizationURL = { [weak self] url in
                let address = url.absoluteString
                MainContext.perform { self?.offer(address, number) }
            }
        }
        parameters.onProgress = { [weak self] phase in
            MainContext.perform { self?.show(phase, number) }
        }
        let result = try await application.acquireTokenInteractively(parameters)
        if case .failed(let failure) = result.persistence {
            let reason = Problem(failure)?.text ?? ""
            Desktop.tell(tr("Signed In Only Until the Program Ends"), tr("It could not be kept. {0}", reason))
        }
        return result
    }

    /// Asks an administrator to allow the program's permissions on the page, and shows the row meanwhile.
    ///
    /// - Parameter onAddress: Called with the page's address, which an administrator on another computer can also open.
    /// - Returns: The identifier of the organization that allows the program.
    /// - Throws: ``WordedError`` if the administrator refused, or the provider has no such page;
    ///   `AuthenticationError.redirectUnavailable`; `CancellationError`.
    public func askAdministrator(
        with application: PublicClientApplication,
        scopes: Set<Scope>,
        onAddress: @escaping @MainContext (String) -> Void
    ) async throws -> String {
        let number = beginPage()
        tell(tr("Have an administrator allow the program, on the page."))
        defer { endPage(number) }
        return try await AdminConsent.ask(application, for: scopes) { [weak self] url in
            let address = url.absoluteString
            MainContext.perform {
                self?.offer(address, number)
                onAddress(address)
            }
        }
    }

    private func beginPage() -> Int {
        number += 1
        address = nil
        tellPage()
        hasPage = true
        cancelButton.focusWhenShown { [weak self] focused in
            if let self, let focused, !widget.isAround(focused) { previous = focused }
        }
        return number
    }

    private func endPage(_ number: Int) {
        guard number == self.number else { return }
        cancelButton.keepFocusAway()
        let hadFocus = widget.focusInWindow.map { widget.isAround($0) } ?? true
        copyButton.isVisible = false
        hasPage = false
        if hadFocus { previous?.focusWhenShown() }
        previous = nil
    }

    private func offer(_ address: String, _ number: Int) {
        if number == self.number { self.address = address }
    }

    private func show(_ phase: SignInPhase, _ number: Int) {
        guard number == self.number else { return }
        switch phase {
        case .waitingForPerson: tellPage()
        case .browserUnavailable:
            tell(tr("Could not open a browser."), tr("Copy the page's address, and open it in any browser."))
        case .brokerUnavailable: break
        case .redirectReceived:
            tell(tr("Finishing the sign-in…"))
            copyButton.isVisible = false
            // The page's own window closes, which leaves the program's window in front.
            if page == .browser { widget.presentWindow() }
        @unknown default: break
        }
    }

    private func showOrHide() {
        if isWaiting, !hasPage { tell(tr("The answer takes a while.")) }
        guard widget.isVisible != isShown else { return }
        widget.isVisible = isShown
        spinner.isSpinning = isShown
        onShow(isShown)
        if isShown, !hasPage { widget.announce(text.text) }
    }

    private func tellPage() {
        // An address that only the program's own page window can return from is useless elsewhere.
        copyButton.isVisible = page == .browser
        switch page {
        case .browser: tell(tr("Finish signing in in the browser."), tr("If none has opened, copy the page's address."))
        case .embedded:
            tell(tr("Finish signing in in the page's window."), tr("Closing the window gives up the sign-in."))
        }
    }

    private func tell(_ words: String, _ more: String = "") {
        guard text.text != words || explanation.text != more else { return }
        text.text = words
        explanation.text = more
        explanation.isVisible = !more.isEmpty
        cancelButton.described(more.isEmpty ? words : "\(words) \(more)")
    }
}
