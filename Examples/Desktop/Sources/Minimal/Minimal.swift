// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CAdwaita
import Foundation
import IdentityClient
import IdentityKeyring

/// The smallest program with a window: plain GTK, one button, and two calls of the library, `acquireToken` and `signOut`.
///
/// Copy this file alone. Of `CAdwaita` it needs GTK, and the function `kit_connect`. Give your registration in the
/// environment, or write it below: `CLIENT_ID=ID AUTHORITY=https://login.microsoftonline.com/common swift run Minimal`.
@main
enum Minimal {
    static func main() throws {
        let environment = ProcessInfo.processInfo.environment
        let configuration = PublicClientApplication.Configuration(
            clientID: ClientID(rawValue: environment["CLIENT_ID"] ?? "your-client-id"),
            authority: try Authority(url: environment["AUTHORITY"] ?? "https://login.microsoftonline.com/common"),
            cache: DesktopTokenCache(applicationName: "Minimal")
        )
        let app = try PublicClientApplication(configuration)
        gtk_init()
        Task { @GTK in SignInWindow.open(app) }
        g_main_loop_run(g_main_loop_new(nil, 0))
    }
}

/// The window. Its button signs in, gives up the sign-in, or signs out.
@GTK
enum SignInWindow {
    private static let label = gtk_label_new("No account is signed in.")
    private static let button = gtk_button_new_with_label("Sign In")
    private static var app: PublicClientApplication?
    private static var account: Account?
    private static var task: Task<Void, Never>?

    static func open(_ app: PublicClientApplication) {
        self.app = app
        let column = gtk_box_new(GTK_ORIENTATION_VERTICAL, 12)
        gtk_label_set_wrap(OpaquePointer(label), 1)
        for widget in [label, button] { gtk_box_append(pointer(column), widget) }
        for set in [gtk_widget_set_margin_top, gtk_widget_set_margin_bottom] { set(column, 24) }
        for set in [gtk_widget_set_margin_start, gtk_widget_set_margin_end] { set(column, 24) }
        let window = gtk_window_new()
        gtk_window_set_title(pointer(window), "Minimal")
        gtk_window_set_titlebar(pointer(window), gtk_header_bar_new())
        gtk_window_set_child(pointer(window), column)
        _ = kit_connect(button, "clicked", nil, { _ in SignInWindow.press() }, nil)
        _ = kit_connect(window, "destroy", nil, { _ in Task { await SignInWindow.close() } }, nil)
        gtk_window_present(pointer(window))
    }

    private static func press() {
        guard let app else { return }
        if let task { return task.cancel() }
        task = Task {
            let leaving = account
            do {
                if let leaving {
                    try await app.signOut(leaving)
                    account = nil
                    show("\(leaving.username ?? "The account") was signed out.")
                } else {
                    show("If a browser opens, finish signing in there.", "Cancel")
                    // Acquires the token silently if possible, otherwise through the browser.
                    let result = try await app.acquireToken(scopes: ["User.Read"])
                    account = result.account
                    show("\(result.account.username ?? "The account") is signed in until \(result.expiresOn).")
                }
            } catch let error as AuthenticationError {
                show(error.message)
            } catch {
                show("Cancelled.")
            }
            task = nil
        }
    }

    /// Frees the port of a sign-in, and gives refreshes a moment to finish.
    private static func close() async {
        task?.cancel()
        // The window that could tell a failure is gone.
        _ = try? await app?.finishPendingRefreshes(within: .seconds(3))
        exit(EXIT_SUCCESS)
    }

    private static func show(_ text: String, _ command: String? = nil) {
        gtk_label_set_text(OpaquePointer(label), text)
        gtk_button_set_label(pointer(button), command ?? (account == nil ? "Sign In" : "Sign Out"))
    }

    /// Casts a widget to its own type. GTK's types inherit; the imported types do not.
    private static func pointer<Kind>(_ widget: UnsafeMutablePointer<GtkWidget>?) -> UnsafeMutablePointer<Kind>? {
        UnsafeMutableRawPointer(widget)?.assumingMemoryBound(to: Kind.self)
    }
}

/// GTK's thread. `@MainActor` never runs there, because GLib's main loop does not serve it.
@globalActor
actor GTK {
    static let shared = GTK()
    private static let loop = MainLoop()
    nonisolated var unownedExecutor: UnownedSerialExecutor { Self.loop.asUnownedSerialExecutor() }
}

/// Runs each job as an idle source of GLib's main loop.
final class MainLoop: SerialExecutor {
    private final class Job: Sendable {
        let work: UnownedJob
        let loop: MainLoop

        init(_ work: UnownedJob, on loop: MainLoop) {
            self.work = work
            self.loop = loop
        }
    }

    func enqueue(_ work: consuming ExecutorJob) {
        let job = Unmanaged.passRetained(Job(UnownedJob(work), on: self)).toOpaque()
        let run: GSourceFunc = { data in
            guard let job = data.map({ Unmanaged<Job>.fromOpaque($0).takeRetainedValue() }) else { return 0 }
            job.work.runSynchronously(on: job.loop.asUnownedSerialExecutor())
            return 0
        }
        g_idle_add_full(G_PRIORITY_DEFAULT, run, job, nil)
    }

    /// Checks what the compiler cannot know: that GTK calls the window's handlers on this thread.
    func checkIsolated() {
        precondition(g_main_context_is_owner(g_main_context_default()) != 0, "This is not GTK's thread.")
    }
}
