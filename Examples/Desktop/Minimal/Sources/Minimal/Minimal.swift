// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CGTK
import Foundation
import IdentityClient
import IdentityGLib
import IdentityKeyring

/// The smallest program with a window: plain GTK, one button, and three calls of the library, `currentAccount`,
/// `acquireTokenSilentlyOrInteractively` and `signOut`.
///
/// Give your registration in the environment, or write it below: `CLIENT_ID=ID ISSUER=https://id.example.com swift run`.
/// For a provider of Microsoft's give its address in `AUTHORITY` instead: `https://login.microsoftonline.com/common`.
@main
enum Minimal {
    /// Where sign-ins are kept.
    enum Keeping {
        /// In encrypted files, if their key can be had from the keyring without asking the person.
        case quietly
        /// The same, and the keyring may ask for its password.
        case asking
        /// In memory, until the program ends.
        case notAtAll
    }

    static func main() {
        do {
            _ = try application(.quietly)
        } catch {
            FileHandle.standardError.write(Data("\((error as? AuthenticationError)?.message ?? "\(error)")\n".utf8))
            exit(64)  // the status of wrong usage
        }
        // A second start brings the window of the first to the front.
        let program = gtk_application_new("io.github.identity.Minimal", G_APPLICATION_DEFAULT_FLAGS)
        minimal_connect(program, "activate") { _ in
            g_application_hold(g_application_get_default())  // until the window is closed
            Task { @MainContext in SignInWindow.present() }
        }
        exit(g_application_run(pointer(program), 0, nil))
    }

    /// Returns the application object.
    ///
    /// - Throws: `AuthenticationError.configuration` if the environment names no provider.
    static func application(_ keeping: Keeping) throws -> PublicClientApplication {
        let environment = ProcessInfo.processInfo.environment
        let authority =
            try environment["AUTHORITY"].map { try Authority(url: $0) }
            ?? .openIDConnect(issuer: environment["ISSUER"] ?? "https://id.example.com")
        let clientID = ClientID(rawValue: environment["CLIENT_ID"] ?? "your-client-id")
        let cache: any TokenCache =
            switch keeping {
            case .quietly: DesktopTokenCache(applicationName: "Minimal")
            case .asking: DesktopTokenCache(applicationName: "Minimal", prompting: .allowed())
            case .notAtAll: InMemoryTokenCache()
            }
        return try PublicClientApplication(.init(clientID: clientID, authority: authority, cache: cache))
    }
}

/// The window. Its button signs in, gives up the sign-in, or signs out; if the token cache cannot be used, it tries again,
/// and a second button goes on without the cache.
@MainContext
enum SignInWindow {
    private static var window: UnsafeMutablePointer<GtkWidget>?
    private static let label = gtk_label_new(nil)
    private static let button = gtk_button_new()
    private static let goOn = gtk_button_new_with_label("Continue Without Keeping")
    /// The application object, unless the token cache cannot be used.
    private static var app: PublicClientApplication?
    private static var account: Account?
    private static var task: Task<Void, Never>?

    static func present() {
        if window == nil { build() }
        gtk_window_present(pointer(window))
    }

    private static func build() {
        let column = gtk_box_new(GTK_ORIENTATION_VERTICAL, 12)
        gtk_label_set_wrap(OpaquePointer(label), 1)
        for widget in [label, button, goOn] { gtk_box_append(pointer(column), widget) }
        for set in [gtk_widget_set_margin_top, gtk_widget_set_margin_bottom] { set(column, 24) }
        for set in [gtk_widget_set_margin_start, gtk_widget_set_margin_end] { set(column, 24) }
        let program: UnsafeMutablePointer<GtkApplication>? = pointer(g_application_get_default())
        minimal_add_keys(program)
        window = gtk_application_window_new(program)
        gtk_window_set_title(pointer(window), "Minimal")
        gtk_window_set_child(pointer(window), column)
        minimal_connect(button, "clicked") { _ in SignInWindow.press() }
        minimal_connect(goOn, "clicked") { _ in SignInWindow.open(.notAtAll) }
        minimal_connect(window, "destroy") { _ in Task { await SignInWindow.close() } }
        open(.quietly)
    }

    /// Opens the token cache, and shows who is signed in.
    private static func open(_ keeping: Minimal.Keeping) {
        run("Looking for an account…", canCancel: false) {
            let app = try Minimal.application(keeping)
            account = try await app.currentAccount().current
            self.app = app
            return account.map { "\(name(of: $0)) is signed in." } ?? "No account is signed in."
        }
    }

    private static func press() {
        if let task { return task.cancel() }
        guard let app else { return open(.asking) }
        if let account {
            run("Signing out…") {
                try await app.signOut(account)
                self.account = nil
                return "\(name(of: account)) was signed out."
            }
        } else {
            run("If a browser opens, finish signing in there.") {
                // Acquires the token silently if possible, otherwise through the browser.
                let account = try await app.acquireTokenSilentlyOrInteractively(scopes: ["email"]).account
                self.account = account
                return "\(name(of: account)) is signed in."
            }
        }
    }

    /// Does one thing at a time, and shows what came of it.
    private static func run(
        _ text: String,
        canCancel: Bool = true,
        _ work: @escaping @MainContext () async throws -> String
    ) {
        task = Task {
            var outcome: String
            do {
                outcome = try await work()
            } catch let error as AuthenticationError {
                outcome = error.message
                if error.family == .cache { app = nil }
            } catch is CancellationError {
                outcome = "Cancelled."
            } catch {
                outcome = "It did not work: \(error)"
            }
            task = nil
            show(outcome)
        }
        show(text)
        gtk_widget_set_sensitive(button, canCancel ? 1 : 0)
    }

    private static func show(_ text: String) {
        gtk_label_set_text(OpaquePointer(label), text)
        minimal_describe(button, text)
        let command =
            if task != nil { "Cancel" } else if app == nil { "Try Again" } else if account == nil { "Sign In" } else {
                "Sign Out"
            }
        gtk_button_set_label(pointer(button), command)
        gtk_widget_set_visible(goOn, command == "Try Again" ? 1 : 0)
        gtk_widget_set_sensitive(button, 1)
        if gtk_window_get_focus(pointer(window)) == nil { gtk_widget_grab_focus(button) }
    }

    private static func name(of account: Account) -> String { account.username ?? "The account" }

    /// Frees the port of a sign-in, and gives refreshes a moment to finish.
    private static func close() async {
        task?.cancel()
        // The window that could tell a failure is gone.
        _ = try? await app?.finishPendingWork(within: .seconds(3))
        exit(EXIT_SUCCESS)
    }
}

/// Casts an object to its own type. GTK's types inherit; the imported types do not.
private func pointer<Object, Kind>(_ object: UnsafeMutablePointer<Object>?) -> UnsafeMutablePointer<Kind>? {
    UnsafeMutableRawPointer(object)?.assumingMemoryBound(to: Kind.self)
}
