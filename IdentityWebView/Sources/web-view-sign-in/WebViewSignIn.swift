// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CWebKitGTK
import IdentityClient
import IdentityGLib
import IdentityTesting
import IdentityWebView

/// A window with a button that signs in, in a web view, at a provider of its own on the loopback interface.
@main
enum WebViewSignIn {
    static func main() throws {
        let demo = try Demo()
        let application = gtk_application_new("com.example.WebViewSignIn", G_APPLICATION_NON_UNIQUE)
        identity_connect(
            application,
            "activate",
            unsafeBitCast(activate, to: GCallback.self),
            Unmanaged.passUnretained(demo).toOpaque()
        )
        let status = withExtendedLifetime(demo) {
            g_application_run(UnsafeMutableRawPointer(application)?.assumingMemoryBound(to: GApplication.self), 0, nil)
        }
        guard status == 0 else { throw DemoFailure.noWindow }
    }

    private static let activate: @convention(c) (UnsafeMutablePointer<GtkApplication>?, gpointer?) -> Void = {
        guard let application = $0, let data = $1 else { return }
        Unmanaged<Demo>.fromOpaque(data).takeUnretainedValue().showWindow(of: application)
    }
}

enum DemoFailure: Error {
    case noWindow
}

/// The window and the actions of its button.
// Reviewed exception: its variables are used on the GTK main context only.
final class Demo: @unchecked Sendable {
    private let provider: TestIdentityProvider
    private let app: PublicClientApplication
    private var status: UnsafeMutablePointer<GtkWidget>?
    private var button: UnsafeMutablePointer<GtkWidget>?

    init() throws {
        provider = try TestIdentityProvider()
        provider.settings.secondFactorCode = "246810"
        let presenter = WebViewPresenter()
        var configuration = ClientConfiguration(
            clientID: "test-client",
            authority: try provider.listen(),
            cache: InMemoryTokenCache()
        )
        configuration.browser = presenter
        configuration.redirectReceiver = presenter
        app = try PublicClientApplication(configuration)
    }

    func showWindow(of application: UnsafeMutablePointer<GtkApplication>) {
        guard let window = gtk_application_window_new(application), let box = gtk_box_new(GTK_ORIENTATION_VERTICAL, 18),
            let button = gtk_button_new_with_mnemonic("_Sign In"),
            let status = gtk_label_new(
                """
                The person is alice@example.test,
                the password “correct horse”, the code 246810.
                """
            )
        else { return }
        (self.button, self.status) = (button, status)
        // A sign-in may end after the window is gone.
        for widget in [button, status] { g_object_ref(widget) }
        let data = Unmanaged.passUnretained(self).toOpaque()
        identity_connect(button, "clicked", unsafeBitCast(Self.clicked, to: GCallback.self), data)
        gtk_widget_add_css_class(button, "suggested-action")
        gtk_widget_set_halign(button, GTK_ALIGN_CENTER)
        gtk_label_set_justify(OpaquePointer(status), GTK_JUSTIFY_CENTER)
        gtk_label_set_wrap(OpaquePointer(status), 1)
        gtk_widget_set_valign(box, GTK_ALIGN_CENTER)
        for child in [status, button] { gtk_box_append(Self.cast(box), child) }
        gtk_window_set_title(Self.cast(window), "Web View")
        gtk_window_set_default_size(Self.cast(window), 760, 520)
        gtk_window_set_child(Self.cast(window), box)
        gtk_widget_grab_focus(button)
        gtk_window_present(Self.cast(window))
    }

    private func signIn() {
        show("Signing in…", isBusy: true)
        Task { [app] in
            let text: String
            do {
                let result = try await app.acquireTokenInteractively(scopes: ["email"])
                text = "Signed in as \(result.account.username ?? "an account without a name")."
            } catch let error as AuthenticationError where error.family == .userCancelled {
                text = "The sign-in was not finished."
            } catch {
                text = "\(error)"
            }
            MainContext.perform { self.show(text, isBusy: false) }
        }
    }

    private func show(_ text: String, isBusy: Bool) {
        gtk_label_set_text(OpaquePointer(status), text)
        gtk_widget_set_sensitive(button, isBusy ? 0 : 1)
        if !isBusy { gtk_widget_grab_focus(button) }
    }

    private static let clicked: @convention(c) (UnsafeMutablePointer<GtkWidget>?, gpointer?) -> Void = { _, data in
        if let data { Unmanaged<Demo>.fromOpaque(data).takeUnretainedValue().signIn() }
    }

    private static func cast<Class>(_ widget: UnsafeMutablePointer<GtkWidget>) -> UnsafeMutablePointer<Class> {
        UnsafeMutableRawPointer(widget).assumingMemoryBound(to: Class.self)
    }
}
