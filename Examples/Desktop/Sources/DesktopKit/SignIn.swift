// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient

/// A row that is shown while the person is on the sign-in page. It has instructions and a way to cancel and, for a page
/// in the browser, the address to copy.
@MainContext
public final class SignInBar {
    /// The widget for the window, hidden at first.
    public let widget: Box
    private let page: PageChoice
    private let spinner = Spinner()
    private let text: Label
    private let explanation: Label
    private let copyButton: Button
    private let state: State

    private final class State {
        var address: String?
    }

    /// Creates a hidden row.
    ///
    /// - Parameters:
    ///   - page: The place where the page is shown.
    ///   - cancel: Called when the person gives up.
    public init(_ page: PageChoice, cancel: @escaping @MainContext () -> Void) {
        let state = State()
        self.page = page
        self.state = state
        text = Label(Self.text(page)).onOneLine()
        explanation = Label(Self.explanation(page)).onOneLine().styled("dim-label", "caption")
        copyButton = Button(icon: "edit-copy-symbolic", hint: tr("Copy the page's address")) {
            if let address = state.address { Desktop.copy(address) }
        }
        .styled("flat").aligned(vertically: .center)
        widget = Box.row(
            spacing: 12,
            spinner,
            Box.column(spacing: 2, text, explanation).expanding().aligned(vertically: .center),
            copyButton,
            Button(tr("_Cancel"), cancel).aligned(vertically: .center)
        )
        widget.isVisible = false
    }

    private static func text(_ page: PageChoice) -> String {
        switch page {
        case .browser: tr("Finish signing in in the browser.")
        case .embedded: tr("Finish signing in in the page's window.")
        }
    }

    private static func explanation(_ page: PageChoice) -> String {
        switch page {
        case .browser: tr("If none has opened, copy the page's address.")
        case .embedded: tr("Closing the window gives up the sign-in.")
        }
    }

    /// Whether the row is shown.
    public var isShown: Bool {
        get { widget.isVisible }
        set {
            widget.isVisible = newValue
            spinner.isSpinning = newValue
            guard newValue else { return state.address = nil }
            copyButton.isSensitive = state.address != nil
            show(isFinishing: false)
        }
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
        if page == .browser {
            // A browser that does not open is not a failure, because the person can copy the address.
            parameters.onAuthorizationURL = { [weak self] url in
                let address = url.absoluteString
                onMainContext { self?.offer(address) }
            }
        }
        parameters.onProgress = { [weak self] phase in
            onMainContext { self?.show(phase) }
        }
        isShown = true
        defer { isShown = false }
        let result = try await application.acquireTokenInteractively(parameters)
        if case .failed(let failure) = result.persistence {
            let reason = Problem(failure)?.full ?? failure.message
            Desktop.tell(tr("Signed In Only Until the Program Ends"), tr("It could not be kept. {0}", reason))
        }
        return result
    }

    /// Asks an administrator to allow the program's permissions on the page, and shows the row meanwhile.
    ///
    /// - Parameter onAddress: Called with the page's address, which an administrator on another computer can also open.
    /// - Returns: The identifier of the organization that allows the program.
    /// - Throws: `AuthenticationError.userCancelled` if the administrator refused; `.unsupported` if the provider has
    ///   no such page; `.redirectUnavailable`; `CancellationError`.
    public func askAdministrator(
        with application: PublicClientApplication,
        scopes: Set<Scope>,
        onAddress: @escaping @MainContext (String) -> Void
    ) async throws -> String {
        isShown = true
        text.text = tr("Have an administrator allow the program, on the page.")
        defer { isShown = false }
        return try await AdminConsent.ask(application, for: scopes) { [weak self] url in
            let address = url.absoluteString
            onMainContext {
                self?.offer(address)
                onAddress(address)
            }
        }
    }

    private func show(_ phase: SignInPhase) {
        show(isFinishing: phase == .redirectReceived)
        // The page's own window closes, which leaves the program's window in front.
        if phase == .redirectReceived, page == .browser { widget.presentWindow() }
    }

    private func show(isFinishing: Bool) {
        text.text = isFinishing ? tr("Finishing the sign-in…") : Self.text(page)
        explanation.isVisible = !isFinishing
        // An address that only the program's own page window can return from is useless elsewhere.
        copyButton.isVisible = page == .browser && !isFinishing
    }

    private func offer(_ address: String) {
        state.address = address
        copyButton.isSensitive = isShown
    }
}
