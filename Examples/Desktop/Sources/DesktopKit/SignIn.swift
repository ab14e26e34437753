// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient

/// A row that is shown while the browser has the person's attention: what to do, the address to copy, and a way out.
@MainContext
public final class SignInBar {
    /// What to put into the window; not seen at first.
    public let widget: Box
    private let spinner = Spinner()
    private let copyButton: Button
    private let state: State

    private final class State {
        var address: String?
    }

    /// - Parameter cancel: Is called when the person gives up.
    public init(cancel: @escaping @MainContext () -> Void) {
        let state = State()
        self.state = state
        copyButton = Button(icon: "edit-copy-symbolic", hint: tr("Copy the page's address")) {
            if let address = state.address { Desktop.copy(address) }
        }
        .styled("flat").aligned(vertically: .center)
        widget = Box.row(
            spacing: 12,
            spinner,
            Box.column(
                spacing: 2,
                Label(tr("Finish signing in in the browser.")).onOneLine(),
                Label(tr("If none has opened, copy the page's address.")).onOneLine().styled("dim-label", "caption")
            ).expanding().aligned(vertically: .center),
            copyButton,
            Button(tr("_Cancel"), cancel).aligned(vertically: .center)
        )
        widget.isVisible = false
    }

    /// Shows it, or takes it away.
    public var isShown: Bool {
        get { widget.isVisible }
        set {
            widget.isVisible = newValue
            spinner.isSpinning = newValue
            if newValue { copyButton.isSensitive = state.address != nil } else { state.address = nil }
        }
    }

    /// Signs somebody in through the browser while this is shown.
    ///
    /// - Throws: As `acquireTokenInteractively(_:)`.
    public func signIn(
        with application: PublicClientApplication,
        _ parameters: InteractiveParameters
    ) async throws -> AuthenticationResult {
        var parameters = parameters
        parameters.whenPending = .supersede
        parameters.requiresBrowser = false  // the address can be copied
        parameters.onAuthorizationURL = { [weak self] url in
            let address = url.absoluteString
            onMainContext { self?.offer(address) }
        }
        isShown = true
        defer { isShown = false }
        return try await application.acquireTokenInteractively(parameters)
    }

    private func offer(_ address: String) {
        state.address = address
        copyButton.isSensitive = isShown
    }
}
