// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CWebKitGTK
import FoundationEssentials
import IdentityClient
import IdentityTesting
import Testing

@testable import IdentityWebView

/// The ends of an unfinished sign-in, and of its window.
@Suite(.serialized, .tags(.desktop), .enabled(if: Desktop.isPrepared), .timeLimit(.minutes(1)))
struct WebViewEndTests {
    @Test func endsAtOnceWhenThePersonClosesTheWindow() async throws {
        let (window, task) = try await TestSetup().signIn()
        try await window.waitForPage("Sign in")
        MainContext.perform { if let widgets = window.widgets { gtk_window_close(widgets.window) } }
        await #expect { try await task.value } throws: { ($0 as? AuthenticationError)?.family == .userCancelled }
        try await window.waitUntilGone()
    }

    @Test(arguments: ["Escape", "ctrl+w"])
    func endsAtTheKeysThatCloseADialog(keys: String) async throws {
        let (window, task) = try await TestSetup().signIn()
        try await window.waitForPage("Sign in")
        try Keyboard.focus("Sign in")
        try Keyboard.press(keys)
        await #expect { try await task.value } throws: { ($0 as? AuthenticationError)?.family == .userCancelled }
        try await window.waitUntilGone()
    }

    @Test func endsWithTheWindowItBelongsTo() async throws {
        let program = ProgramWindow()
        let (window, task) = try await TestSetup(parent: { program.window }).signIn()
        let isModal = try await MainContext.value(within: .seconds(30)) {
            window.widgets.map {
                gtk_window_get_modal($0.window) != 0 && gtk_window_get_transient_for($0.window) != nil
            }
        }
        #expect(isModal == true)
        MainContext.perform { program.close() }
        await #expect { try await task.value } throws: { ($0 as? AuthenticationError)?.family == .userCancelled }
        try await window.waitUntilGone()
    }

    @Test func closesTheWindowAtTheDeadline() async throws {
        let (window, task) = try await TestSetup().signIn { $0.timeout = .milliseconds(200) }
        await #expect { try await task.value } throws: { ($0 as? AuthenticationError)?.code == .interactionTimedOut }
        try await window.waitUntilGone()
    }

    @Test func closesTheWindowWhenTheTaskIsCancelled() async throws {
        let (window, task) = try await TestSetup().signIn()
        try await window.waitForPage("Sign in")
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        try await window.waitUntilGone()
    }

    @Test func givesWayToANewerSignIn() async throws {
        let setup = try TestSetup()
        let (first, old) = try await setup.signIn()
        let (second, new) = try await setup.signIn { $0.whenPending = .supersede }
        await #expect { try await old.value } throws: { ($0 as? AuthenticationError)?.code == .interactionSuperseded }
        try await first.waitUntilGone()
        try await second.signInAsAlice()
        #expect(try await new.value.account.username == "alice@example.test")
    }

    @Test func showsOneSignInAtATime() async throws {
        let presenter = WebViewPresenter()
        let listener = try await presenter.start(for: .loopback, responseMode: .query)
        await #expect { try await presenter.start(for: .loopback, responseMode: .query) } throws: { error in
            (error as? AuthenticationError)?.code == .interactionInProgress
        }
        await listener.close()
        await #expect(throws: CancellationError.self) { try await listener.receive() }
        _ = try await presenter.start(for: .loopback, responseMode: .query)
        // Released without being closed.
        _ = try await presenter.start(for: .loopback, responseMode: .query)
    }
}

/// The program's own window.
// Reviewed exception: used on the GTK main context only.
private final class ProgramWindow: @unchecked Sendable {
    lazy var window: OpaquePointer? = {
        let window = gtk_window_new()
        gtk_widget_set_visible(window, 1)
        return OpaquePointer(window)
    }()

    func close() {
        if let window { gtk_window_destroy(UnsafeMutablePointer<GtkWindow>(window)) }
        window = nil
    }
}
