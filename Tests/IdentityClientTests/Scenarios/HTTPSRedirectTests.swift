// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Logging
import Testing

/// A browser that insists on https for the redirect's host.
@Suite(.timeLimit(.minutes(1)))
struct HTTPSRedirectTests {
    /// Returns by https, the given number of times.
    private struct EncryptingBrowser: BrowserLauncher {
        var visits: Int
        let provider: TestIdentityProvider

        func open(_ url: URL) async throws {
            let items = try #require(URLComponents(url: url, resolvingAgainstBaseURL: false)?.queryItems)
            let redirect = try #require(items.first { $0.name.hasSuffix("redirect_uri") }?.value.flatMap(URL.init))
            for _ in 0..<visits {
                let connection = try RawConnection(port: UInt16(try #require(redirect.port)))
                connection.send([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00])
                #expect(try await connection.receive().isEmpty)
            }
        }
    }

    @Test(arguments: [0, 1, 3]) func saysWhyTheRedirectDidNotArrive(visits: Int) async throws {
        let setup = try TestSetup(listensOnLoopback: true)
        let warnings = Shared<[String]>([])
        let application = try setup.application {
            $0.browser = EncryptingBrowser(visits: visits, provider: setup.provider)
            $0.logger = .keeping(warnings, from: .warning)
        }
        var parameters = InteractiveParameters(scopes: ["api.read"])
        parameters.timeout = .seconds(2)
        let error = try await expectError(.interactionTimedOut) {
            try await application.acquireTokenInteractively(parameters)
        }
        #expect(error.message.hasPrefix("Sign-in was not finished within 2 seconds."))
        #expect(["https", "HSTS", "127.0.0.1"].allSatisfy(error.message.contains) == (visits > 0))
        // Otherwise the provider may have shown an error, from which no redirect comes.
        #expect(error.message.contains("the redirect URI http://") == (visits == 0), "\(error.message)")
        // One warning, however often the browser tries.
        #expect(warnings.value.count == min(visits, 1))
        #expect(warnings.value.allSatisfy { error.message.hasSuffix($0) })
    }

    @Test func saysWhyASignOutDidNotComeBack() async throws {
        let setup = try TestSetup(listensOnLoopback: true)
        let (_, first) = try await setup.signedIn()
        let warnings = Shared<[String]>([])
        let application = try setup.application {
            $0.browser = EncryptingBrowser(visits: 2, provider: setup.provider)
            $0.logger = .keeping(warnings, from: .warning)
        }
        var parameters = SignOutParameters()
        parameters.endsBrowserSession = true
        parameters.postLogoutRedirectURI = try .loopback(path: "/signed-out")
        parameters.timeout = .seconds(2)
        let result = try await application.signOut(first.account, parameters: parameters)
        #expect(result.browserSession.word == "unconfirmed")
        #expect(warnings.value.count == 1 && warnings.value.allSatisfy { $0.contains("HSTS") })
    }
}
