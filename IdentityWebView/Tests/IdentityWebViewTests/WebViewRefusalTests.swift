// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import CWebKitGTK
import Foundation
import IdentityClient
import IdentityTesting
import Testing

@testable import IdentityWebView

/// The requests that a page is refused, and the notices to the person.
@Suite(.serialized, .tags(.desktop), .enabled(if: Desktop.isPrepared), .timeLimit(.minutes(1)))
struct WebViewRefusalTests {
    @Test func doesNotTakeARedirectToAnotherPort() async throws {
        let setup = try TestSetup(redirectURI: .loopback(ports: 1022...1022))
        setup.provider.settings.autoApproves = true
        let listener = try await setup.presenter.start(
            for: .loopback(host: .ipv4, ports: 1021...1021),
            responseMode: .query
        )
        let request = try await setup.app.prepareAuthorization(InteractiveParameters(scopes: ["email"]))
        try await setup.presenter.open(request.url)
        let window = try await setup.nextWindow()
        #expect(try await window.waitForProblem().hasPrefix("http://127.0.0.1:1022 could not be loaded"))
        #expect(setup.provider.count(of: .authorization) == 1)
        // It would be handed on before the end.
        await listener.close()
        await #expect(throws: CancellationError.self) { try await listener.receive() }
    }

    @Test func letsThePersonStartAgainWhenThePageCannotBeReached() async throws {
        let setup = try TestSetup()
        let (window, task) = try await setup.signIn()
        try await window.waitForPage("Sign in")
        let request = try #require(setup.provider.requests.first { $0.endpoint == .authorization })
        let port = try #require(URL(string: request.url)?.port)
        setup.provider.close()
        try await window.run("document.getElementById('sign-in').click()")
        #expect(try await window.waitForProblem().contains("could not be loaded"))
        try setup.provider.listen(port: UInt16(port))
        MainContext.perform { if let widgets = window.widgets { _ = gtk_widget_activate(widgets.retry) } }
        try await window.signInAsAlice()
        #expect(try await task.value.account.username == "alice@example.test")
    }

    @Test func doesNotAcceptACertificateThatIsNotTrusted() async throws {
        let server = try LocalServer.untrusted()
        defer { server.stop() }
        let (window, listener) = try await show("https://localhost:\(server.port)/authorize")
        let problem = try await window.waitForProblem()
        #expect(problem == "The certificate of localhost:\(server.port) is not trusted, so nothing was sent there.")
        await listener.close()
    }

    @Test func downloadsNothing() async throws {
        let server = try LocalServer.downloads()
        defer { server.stop() }
        let (window, listener) = try await show("http://localhost:\(server.port)/authorize")
        try await window.wait("the notice") { $0.noticeText == "Files are not downloaded here." }
        let name = "identity-web-view-test.html"
        let home = FileManager.default.homeDirectoryForCurrentUser
        for directory in [home, home.appending(path: "Downloads"), URL(filePath: ".")] {
            #expect(!FileManager.default.fileExists(atPath: directory.appending(path: name).path))
        }
        await listener.close()
    }

    /// Shows an address as if a sign-in began there.
    private func show(_ address: String) async throws -> (PageWindow, any RedirectListener) {
        let setup = try TestSetup()
        let listener = try await setup.presenter.start(for: .loopback, responseMode: .query)
        try await setup.presenter.open(try #require(URL(string: address)))
        return (try await setup.nextWindow(), listener)
    }

    /// Each of these addresses is refused: the page stays, and the sign-in goes on.
    @Test(arguments: [
        "location.href = 'file:///etc/passwd'",
        "location.href = 'http://example.com/'",
        "location.href = 'data:text/html,<title>Sign in</title>'",
        "location.href = 'mailto:person@example.com'",
        "window.open('https://example.com/', 'help')",
        "window.open('file:///etc/passwd')",
    ])
    func keepsThePageWhereItIs(_ script: String) async throws {
        let setup = try TestSetup()
        let (window, task) = try await setup.signIn()
        try await window.waitForPage("Sign in")
        try await window.run(script)
        #expect(
            try await window.run("String(window.opener) + document.title + location.protocol") == "nullSign inhttp:"
        )
        try await window.signInAsAlice()
        #expect(try await task.value.account.username == "alice@example.test")
    }

    @Test func givesAPageNothingOfThisComputer() async throws {
        let (window, task) = try await TestSetup().signIn()
        try await window.waitForPage("Sign in")
        #expect(try await window.run("String(window.open('about:blank'))") == "null")
        #expect(try await window.run("String(document.fullscreenEnabled === true)") == "false")
        let settings: [gboolean] = try await MainContext.value(within: .seconds(30)) {
            guard let view = window.widgets?.view, let settings = webkit_web_view_get_settings(view) else { return [] }
            return [
                webkit_settings_get_enable_developer_extras(settings),
                webkit_settings_get_allow_file_access_from_file_urls(settings),
                webkit_network_session_is_ephemeral(webkit_web_view_get_network_session(view)),
            ]
        }
        #expect(settings == [0, 0, 1])
        task.cancel()
    }

    @Test func refusesFormPosts() async throws {
        let setup = try TestSetup()
        var parameters = InteractiveParameters(scopes: ["email"])
        parameters.responseMode = .formPost
        await #expect { try await setup.app.acquireTokenInteractively(parameters) } throws: { error in
            (error as? AuthenticationError)?.code == .unsupported
        }
    }

    @Test(arguments: ["http://example.com/authorize", "file:///etc/passwd", "about:blank"])
    func opensOnlyWhatIsProtected(_ address: String) async throws {
        let presenter = WebViewPresenter()
        let listener = try await presenter.start(for: .loopback, responseMode: .query)
        await #expect { try await presenter.open(try #require(URL(string: address))) } throws: { error in
            (error as? AuthenticationError)?.code == .invalidArgument
        }
        await listener.close()
    }

    @Test func saysThatItMustBeTheReceiverToo() async throws {
        let url = try #require(URL(string: "https://example.com/"))
        await #expect { try await WebViewPresenter().open(url) } throws: { error in
            (error as? AuthenticationError)?.message.contains("redirectReceiver") == true
        }
    }
}
