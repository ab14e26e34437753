// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

#if WebView
internal import CWebKitGTK
public import FoundationEssentials
public import IdentityClient
import Synchronization

/// A browser and redirect receiver that shows the sign-in page in one of the program's own windows, with WebKitGTK.
///
/// Use the same object as both the browser and the receiver:
///
/// ```swift
/// let window = WebViewPresenter()
/// configuration.browser = window
/// configuration.redirectReceiver = window
/// ```
///
/// The window belongs to the program's active window and is modal. It shows the origin of the page, keeps nothing
/// (cookies and storage are deleted with it), and loads only pages protected by TLS and this machine's own pages.
/// Downloads, file choosers, further windows, notifications and the like are refused; an untrusted certificate cannot
/// be accepted. The redirect is never loaded, so no port is opened: `http://localhost`, a custom scheme of the program
/// and `urn:ietf:wg:oauth:2.0:oob` all work. If the person closes the window, the sign-in ends with `.userCancelled`.
///
/// Answers must come in the query, because WebKit does not give the content of a form post to the program. If the
/// parameters leave the response mode open, the query is requested.
///
/// The system's browser is the better choice wherever it is available, and stays the default: it has the person's
/// session, passwords and passkeys, and does not let the program see what the person types. Some providers refuse to be
/// shown in a web view.
///
/// GTK must be initialized and its main loop must run, on any thread. Methods may be called from any thread and do not
/// block it.
/// - SeeAlso: [RFC 8252 §8.12](https://www.rfc-editor.org/rfc/rfc8252#section-8.12)
public final class WebViewPresenter: BrowserLauncher, RedirectReceiver {
    private let title: String
    private let texts: Texts
    private let parent: @Sendable () -> OpaquePointer?
    private let timeout: Duration
    private let sandboxProblem: @Sendable (Duration) async throws -> String?
    private let shown: @Sendable (PageWindow) -> Void
    /// The sign-in that is shown, or about to be shown.
    private let pending = Mutex<PendingSignIn?>(nil)

    /// Creates a presenter. GTK is not used until a page is shown.
    ///
    /// - Parameters:
    ///   - title: The window's title.
    ///   - texts: The window's own texts, in the person's language. The default is English.
    ///   - parent: Returns the `GtkWindow` to which the sign-in belongs, as an opaque pointer, or `nil` for none. It is
    ///     called on the GTK main context each time. The default is the active window of the running `GtkApplication`.
    public convenience init(
        title: String = "Sign in",
        texts: Texts = Texts(),
        parent: (@Sendable () -> OpaquePointer?)? = nil
    ) {
        self.init(title: title, texts: texts, parent: parent, timeout: .seconds(10)) { _ in }
    }

    init(
        title: String = "Sign in",
        texts: Texts = Texts(),
        parent: (@Sendable () -> OpaquePointer?)? = nil,
        timeout: Duration = .seconds(10),
        sandboxProblem: @escaping @Sendable (Duration) async throws -> String? = { timeout in
            try await SandboxProbe.problem(within: timeout)
        },
        shown: @escaping @Sendable (PageWindow) -> Void
    ) {
        self.title = title
        self.texts = texts
        self.parent = parent ?? { Self.activeWindow() }
        self.timeout = timeout
        self.sandboxProblem = sandboxProblem
        self.shown = shown
    }

    /// The supported response modes: the query only.
    public var responseModes: Set<ResponseMode> { [.query] }

    /// Prepares one sign-in. No port is opened, and nothing is shown yet.
    ///
    /// - Throws: `AuthenticationError(.interactionInProgress, …)` while another sign-in is shown;
    ///   `AuthenticationError(.unsupported, …)` for a form post; `AuthenticationError(.redirectUnavailable, …)` if the
    ///   redirect URI is not an address.
    public func start(for redirectURI: RedirectURI, responseMode: ResponseMode) async throws -> any RedirectListener {
        guard responseMode == .query else {
            throw AuthenticationError(
                .unsupported,
                "A form post cannot be received in a web view. Leave the response mode open, or choose the query."
            )
        }
        let signIn = PendingSignIn(redirectURI: try redirectURI.addressWithoutListener())
        try pending.withLock { pending in
            guard pending == nil else {
                throw AuthenticationError(
                    .interactionInProgress,
                    "Another sign-in is shown in this program's window: finish or close it first."
                )
            }
            pending = signIn
        }
        return WebViewListener(signIn) { [weak self] in
            self?.pending.withLock { pending in
                if pending === signIn { pending = nil }
            }
        }
    }

    /// Shows `url` in a window, and returns when the window is there, without waiting for the page.
    ///
    /// - Throws: `AuthenticationError(.browserUnavailable, …)` if GTK is not initialized, has no display, or its main
    ///   loop has not answered for ten seconds, or if the system does not let WebKit start its sandbox;
    ///   `AuthenticationError(.invalidArgument, …)` if the address is neither `https` nor on the loopback interface, or
    ///   if this object is not also the redirect receiver; `CancellationError`.
    public func open(_ url: URL) async throws {
        let address = url.absoluteString
        guard PageOrigin(address)?.isProtected == true else {
            throw AuthenticationError(
                .invalidArgument,
                "Only https addresses, and http ones of the loopback interface, are shown."
            )
        }
        guard let signIn = pending.withLock({ $0 }),
            let redirect = RedirectAddress(signIn.redirectURI.absoluteString)
        else {
            throw AuthenticationError(
                .invalidArgument,
                "The presenter takes the redirect as well: set it as the configuration's redirectReceiver, too."
            )
        }
        do {
            if let problem = try await sandboxProblem(timeout) { throw Self.noSandbox(problem) }
            try await MainContext.value(within: timeout) { [title, texts, parent, shown] in
                guard gtk_is_initialized() != 0, gdk_display_get_default() != nil else { throw Self.noDisplay }
                let page = PageWindow.Page(address: address, redirect: redirect, redirectURI: signIn.redirectURI)
                let window = PageWindow(title: title, texts: texts, page: page) { [weak signIn] event in
                    switch event {
                    case .redirect(let url): signIn?.take(url)
                    case .gone: signIn?.windowIsGone()
                    }
                }
                guard signIn.attach(window) else { throw CancellationError() }
                window.show(over: parent())
                shown(window)
            }
        } catch {
            let error = error is MainContext.NotRunning ? Self.noLoop : error
            // The caller may go on waiting, for a person who opens the address elsewhere. No redirect would come.
            signIn.end(error)
            throw error
        }
    }

    private static var noDisplay: AuthenticationError {
        AuthenticationError(
            .browserUnavailable,
            "A window cannot be shown: GTK is not initialized, or there is no display."
        )
    }

    private static var noLoop: AuthenticationError {
        AuthenticationError(
            .browserUnavailable,
            "A window cannot be shown: the GTK main loop does not run, or is busy. Run it, and do not block it."
        )
    }

    private static func noSandbox(_ problem: String) -> AuthenticationError {
        AuthenticationError(
            .browserUnavailable,
            """
            A window cannot be shown: the system does not let WebKit start the sandbox for its pages (\(problem)). On Ubuntu 23.10 \
            and later it takes an AppArmor profile that grants the program user namespaces (userns). Use the system's browser, \
            or install such a profile.
            """
        )
    }

    private static func activeWindow() -> OpaquePointer? {
        guard let application = g_application_get_default(),
            g_type_check_instance_is_a(
                UnsafeMutableRawPointer(application).assumingMemoryBound(to: GTypeInstance.self),
                gtk_application_get_type()
            ) != 0
        else { return nil }
        let window = UnsafeMutableRawPointer(application).withMemoryRebound(to: GtkApplication.self, capacity: 1) {
            gtk_application_get_active_window($0)
        }
        return window.map { OpaquePointer($0) }
    }
}

/// The program's side of a sign-in. Releasing it closes the window.
private final class WebViewListener: RedirectListener {
    private let signIn: PendingSignIn
    private let onClose: @Sendable () -> Void

    init(_ signIn: PendingSignIn, onClose: @escaping @Sendable () -> Void) {
        self.signIn = signIn
        self.onClose = onClose
    }

    deinit {
        end()
    }

    var redirectURI: URL { signIn.redirectURI }

    func receive() async throws -> ReceivedRedirect {
        try await signIn.next()
    }

    /// Shows the window's page again if the wait goes on; otherwise the window is closed and the program reports the
    /// outcome.
    func answer(_ redirect: ReceivedRedirect, with page: RedirectPage) async {
        if page.outcome == .refused { signIn.goOn() }
    }

    func close() async {
        end()
    }

    private func end() {
        signIn.end(CancellationError())
        onClose()
    }
}
#endif
