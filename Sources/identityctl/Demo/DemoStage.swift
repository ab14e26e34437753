// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTesting

/// Everything the demo needs: a provider that listens on the loopback interface, and a program that signs in there.
struct DemoStage {
    let session: Session
    let provider: TestIdentityProvider
    let application: PublicClientApplication
    let issuer: String
    let cacheDirectory: String
    let isHeadless: Bool

    static let clientID = "identityctl-demo"
    static let scopes: Set<Scope> = ["files.read"]
    static let lifetime = Duration.seconds(2)

    init(session: Session, cacheDirectory: String, browserCommand: [String]?, isHeadless: Bool) throws {
        self.session = session
        self.cacheDirectory = cacheDirectory
        self.isHeadless = isHeadless
        provider = try TestIdentityProvider(clients: [
            TestIdentityProvider.Client(id: ClientID(rawValue: Self.clientID))
        ])
        provider.settings.accessTokenLifetime = Self.lifetime
        let authority = try provider.listen()
        issuer = authority.description
        var configuration = PublicClientApplication.Configuration(
            clientID: ClientID(rawValue: Self.clientID),
            authority: authority,
            cache: FileTokenCache(directory: cacheDirectory)
        )
        configuration.redirectReceiver = LoopbackRedirectReceiver(applicationName: "the demo of identityctl")
        // It reaches the provider over HTTP, as a real one does.
        let scripted = ScriptedBrowser(provider: nil)
        configuration.browser =
            isHeadless
            ? scripted
            : DemoBrowser(
                real: SystemBrowserLauncher(command: browserCommand, withholding: ProviderOptions.secretVariables),
                scripted: scripted,
                console: session.console
            )
        application = try session.application(configuration)
    }

    /// Says something, on standard output: it is what a demo gives.
    func say(_ text: String = "") throws {
        try session.result(text + "\n")
    }
}

/// The system's browser, and a scripted one where it cannot be opened.
private struct DemoBrowser: BrowserLauncher {
    let real: SystemBrowserLauncher
    let scripted: ScriptedBrowser
    let console: Console

    func open(_ url: URL) async throws {
        do {
            try await real.open(url)
        } catch let failure as AuthenticationError {
            console.line(failure.message.printable)
            console.line("A scripted browser takes its place.")
            try await scripted.open(url)
        }
    }
}

extension Duration {
    /// For people: `12 µs`, `3.4 ms`, `2.1 s`.
    var shortText: String {
        let nanoseconds = components.seconds * 1_000_000_000 + components.attoseconds / 1_000_000_000
        if nanoseconds < 1_000_000 { return "\(max(1, nanoseconds / 1000)) µs" }
        if nanoseconds < 1_000_000_000 { return Self.tenths(nanoseconds / 100_000) + " ms" }
        return Self.tenths(nanoseconds / 100_000_000) + " s"
    }

    private static func tenths(_ count: Int64) -> String {
        count < 100 ? "\(count / 10).\(count % 10)" : "\(count / 10)"
    }
}
