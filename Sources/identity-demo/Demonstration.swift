// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityClient
import IdentityTesting

/// A provider that listens on the loopback interface, and a program that signs in there.
struct Demonstration {
    let provider: TestIdentityProvider
    let application: PublicClientApplication
    let issuer: String
    let cacheDirectory: String
    let isHeadless: Bool

    static let clientID = "identity-demo"
    static let scopes: Set<Scope> = ["files.read"]
    static let lifetime = Duration.seconds(2)
    static let person = TestIdentityProvider.Person.alice

    init(cacheDirectory: String, browserCommand: [String]?, isHeadless: Bool) throws {
        self.cacheDirectory = cacheDirectory
        self.isHeadless = isHeadless
        provider = try TestIdentityProvider(clients: [
            TestIdentityProvider.Client(id: ClientID(rawValue: Self.clientID))
        ])
        provider.settings.accessTokenLifetime = Self.lifetime
        let authority = try provider.listen()
        issuer = authority.description
        var configuration = ClientConfiguration(
            clientID: ClientID(rawValue: Self.clientID),
            authority: authority,
            cache: FileTokenCache(directory: cacheDirectory)
        )
        configuration.redirectReceiver = LoopbackRedirectReceiver(applicationName: "the demonstration")
        // The scripted browser reaches the provider over HTTP, as a real browser does.
        let scripted = ScriptedBrowser(provider: nil)
        configuration.browser =
            isHeadless
            ? scripted
            : FallbackBrowser(
                real: SystemBrowserLauncher(command: browserCommand, withholding: ["IDENTITYCTL_CLIENT_SECRET"]),
                scripted: scripted
            )
        application = try PublicClientApplication(configuration)
    }

    func silent(_ account: Account, forcesRefresh: Bool = false) async throws -> AuthenticationResult {
        try await application.acquireTokenSilently(
            SilentParameters(scopes: Self.scopes, account: account, forcesRefresh: forcesRefresh)
        )
    }

    /// Runs `identityctl token` at the same provider and with the same files.
    func tokenCommand(_ options: String...) async throws -> ToolProcess.Outcome {
        let common = ["--client-id", Self.clientID, "--issuer", issuer, "--cache", "file:\(cacheDirectory)"]
        let scopes = Self.scopes.flatMap { ["--scope", $0.rawValue] }
        return try await ToolProcess.run(["token"] + options + common + scopes)
    }

    func say(_ text: String = "") {
        print(text)
        fflush(nil)  // each line at once, in a pipe as well
    }

    func expect(_ condition: Bool, _ expectation: String) throws {
        guard condition else {
            throw DemoFailure("The demonstration did not go as it should. Expected: \(expectation).")
        }
    }

    func requests(since count: Int) -> String {
        let new = provider.requests.count - count
        return "\(new) \(new == 1 ? "request" : "requests")"
    }

    func timed<Value>(_ work: () async throws -> Value) async rethrows -> (Value, String) {
        let start = ContinuousClock.now
        let value = try await work()
        return (value, (ContinuousClock.now - start).shortText)
    }
}

struct DemoFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) {
        self.description = description
    }
}

/// The system's browser, and a scripted browser if the system's cannot be opened.
private struct FallbackBrowser: BrowserLauncher {
    let real: SystemBrowserLauncher
    let scripted: ScriptedBrowser

    func open(_ url: URL) async throws {
        do {
            try await real.open(url)
        } catch let failure as AuthenticationError {
            print("   \(failure.message)\n   A scripted browser takes its place.")
            try await scripted.open(url)
        }
    }
}

extension Duration {
    /// A text for people: `12 µs`, `3.4 ms`, `2.1 s`.
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
