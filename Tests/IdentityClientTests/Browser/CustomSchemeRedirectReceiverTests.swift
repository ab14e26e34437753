// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityTestSupport
import IdentityTesting
import LoopbackHTTP
import Testing

@testable import IdentityClient

/// Redirects by custom scheme, over real sockets.
@Suite(.timeLimit(.minutes(1)))
struct CustomSchemeRedirectReceiverTests {
    private static let uri = "msauth.com.example.app://auth"

    /// Delivers redirects, as the desktop does when it opens them.
    private struct Desktop: BrowserLauncher {
        let browser: ScriptedBrowser
        let receiver: CustomSchemeRedirectReceiver
        let deliveries: Shared<[Bool]>
        var before: [String] = []

        func open(_ url: URL) async throws {
            try await browser.open(url)
            let redirect = try await browser.redirectURL()
            let (receiver, deliveries, before) = (receiver, deliveries, before)
            Task {
                // A correct answer at the wrong address does not count.
                let elsewhere = redirect.absoluteString.split(separator: "?").joined(separator: "/elsewhere?")
                for address in before + [elsewhere] {
                    let isTaken = try await receiver.deliver(try #require(URL(string: address)))
                    deliveries.withLock { $0.append(isTaken) }
                }
                let isTaken = try await receiver.deliver(redirect)
                deliveries.withLock { $0.append(isTaken) }
            }
        }
    }

    private func setup() throws -> TestSetup {
        try TestSetup(.entra, clients: [.init(redirectURIs: [Self.uri])])
    }

    private func waitFor(_ count: Int, _ deliveries: Shared<[Bool]>) async throws -> [Bool] {
        try await wait { deliveries.value.count >= count }
        return deliveries.value
    }

    @Test func signsInWithWhatIsDelivered() async throws {
        let directory = try TemporaryDirectory()
        let setup = try setup()
        setup.browser.followsRedirects = false
        let receiver = CustomSchemeRedirectReceiver(directory: directory.path)
        let deliveries = Shared<[Bool]>([])
        let uri = try RedirectURI.custom(try #require(URL(string: Self.uri)))
        let application = try setup.application {
            $0.redirectURI = uri
            $0.redirectReceiver = receiver
            $0.browser = Desktop(
                browser: setup.browser,
                receiver: receiver,
                deliveries: deliveries,
                before: [
                    "\(Self.uri)?code=stolen&state=wrong", "\(Self.uri)/elsewhere?code=a&state=b",
                    "\(Self.uri)?guess=1",
                ]
            )
        }
        let result = try await application.acquireTokenInteractively(scopes: ["api.read"])
        #expect(result.account.username == "alice@example.test")
        #expect(try await waitFor(5, deliveries) == [false, false, false, false, true])
        let sent = try #require(setup.provider.requests.first { $0.endpoint == .authorization })
        #expect(sent["redirect_uri"] == Self.uri && sent["response_mode"] == "query")
        // No files remain.
        let left = try FileManager.default.contentsOfDirectory(atPath: "\(directory.path)/redirects")
        #expect(left.isEmpty)
    }

    @Test func saysThatTheDirectoryIsTooDeep() async throws {
        let directory = try TemporaryDirectory()
        let receiver = CustomSchemeRedirectReceiver(
            directory: "\(directory.path)/\(String(repeating: "d", count: 80))"
        )
        let uri = try RedirectURI.custom(try #require(URL(string: Self.uri)))
        let error = await #expect(throws: AuthenticationError.self) {
            _ = try await receiver.start(for: uri, responseMode: .query)
        }
        #expect(error?.code == .redirectUnavailable && error?.message.contains("at most 107 bytes") == true)
    }

    @Test func tellsWhenNobodyWaits() async throws {
        let directory = try TemporaryDirectory()
        let receiver = CustomSchemeRedirectReceiver(directory: directory.path)
        let url = try #require(URL(string: "\(Self.uri)?code=a&state=b"))
        #expect(try await !receiver.deliver(url))
        let listener = try await receiver.start(
            for: .custom(try #require(URL(string: Self.uri))),
            responseMode: .query
        )
        let other = try #require(URL(string: "other.example.app://auth?code=a&state=b"))
        #expect(try await !receiver.deliver(other))
        await listener.close()
        #expect(try await !receiver.deliver(url))
        let plain = try #require(URL(string: "https://example.test/?code=a"))
        try await expectError(.invalidArgument) { try await receiver.deliver(plain) }
        let long = try #require(URL(string: "\(Self.uri)?code=" + String(repeating: "a", count: 17_000)))
        try await expectError(.invalidArgument) { try await receiver.deliver(long) }
    }

    @Test func keepsOthersOutOfItsDirectory() async throws {
        let directory = try TemporaryDirectory()
        let receiver = CustomSchemeRedirectReceiver(directory: directory.path)
        let uri = try RedirectURI.custom(try #require(URL(string: Self.uri)))
        let listener = try await receiver.start(for: uri, responseMode: .query)
        let place = "\(directory.path)/redirects"
        #expect(try permissions(place) == 0o700)
        let name = try #require(try FileManager.default.contentsOfDirectory(atPath: place).first)
        #expect(try permissions("\(place)/\(name)") == 0o600)
        await listener.close()
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: place)
        try await expectError(.cachePermissions) { try await receiver.start(for: uri, responseMode: .query) }
    }

    @Test func clearsAwaySocketsThatNobodyListensOn() async throws {
        let directory = try TemporaryDirectory()
        let receiver = CustomSchemeRedirectReceiver(directory: directory.path)
        let uri = try RedirectURI.custom(try #require(URL(string: Self.uri)))
        let place = "\(directory.path)/redirects"
        let listener = try await receiver.start(for: uri, responseMode: .query)
        let name = try #require(try FileManager.default.contentsOfDirectory(atPath: place).first)
        await listener.close()
        // As after a crash: the socket's name exists, but no process listens.
        let dead = "\(place)/\(name.prefix(13))dead"
        let server = try LoopbackServer.start(unixSocket: dead) { _ in LoopbackResponse(status: 200) }
        server.close()
        let url = try #require(URL(string: "\(Self.uri)?code=a&state=b"))
        while FileManager.default.fileExists(atPath: dead) { #expect(try await !receiver.deliver(url)) }
    }

    @Test func getsNoFormsAndListensToNoWebAddress() async throws {
        let directory = try TemporaryDirectory()
        let receiver = CustomSchemeRedirectReceiver(directory: directory.path)
        let uri = try RedirectURI.custom(try #require(URL(string: Self.uri)))
        try await expectError(.invalidArgument) { try await receiver.start(for: uri, responseMode: .formPost) }
        let web = try RedirectURI.custom(try #require(URL(string: "https://example.test/cb")))
        try await expectError(.redirectUnavailable) { try await receiver.start(for: web, responseMode: .query) }
        try await expectError(.redirectUnavailable) { try await receiver.start(for: .loopback, responseMode: .query) }
    }
}
