// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTesting

@testable import IdentityWebView

/// A program, its presenter, and a provider on the loopback interface.
struct TestSetup {
    let provider: TestIdentityProvider
    let presenter: WebViewPresenter
    let app: PublicClientApplication
    private let windows: AsyncStream<PageWindow>

    init(
        profile: TestIdentityProvider.Profile = .openIDConnect,
        redirectURI: RedirectURI = .loopback,
        registered: [String] = [],
        parent: (@Sendable () -> OpaquePointer?)? = nil
    ) throws {
        Desktop.start()
        provider = try TestIdentityProvider(
            profile: profile,
            clients: [TestIdentityProvider.Client(redirectURIs: registered)]
        )
        let (windows, shown) = AsyncStream.makeStream(of: PageWindow.self)
        self.windows = windows
        presenter = WebViewPresenter(parent: parent) { shown.yield($0) }
        var configuration = ClientConfiguration(
            clientID: "test-client",
            authority: try provider.listen(),
            cache: InMemoryTokenCache()
        )
        configuration.redirectURI = redirectURI
        configuration.browser = presenter
        configuration.redirectReceiver = presenter
        app = try PublicClientApplication(configuration)
    }

    /// Begins to sign in, and returns the window once it is there.
    func signIn(
        _ change: (inout InteractiveParameters) -> Void = { _ in }
    ) async throws -> (PageWindow, Task<AuthenticationResult, any Error>) {
        var parameters = InteractiveParameters(scopes: ["email"])
        // The time limit of a test does not affect the task.
        parameters.timeout = .seconds(45)
        change(&parameters)
        let task = Task { [app, provider, parameters] in
            // A provider without references closes its port.
            defer { withExtendedLifetime(provider) {} }
            return try await app.acquireTokenInteractively(parameters)
        }
        return (try await nextWindow(), task)
    }

    func nextWindow() async throws -> PageWindow {
        for await window in windows { return window }
        throw CancellationError()
    }
}

extension PageWindow {
    /// Signs Alice in on the provider's first page.
    func signInAsAlice() async throws {
        try await waitForPage("Sign in")
        try await fillIn(["username": "alice@example.test", "password": "correct horse"], press: "sign-in")
    }
}
