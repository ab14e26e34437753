// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import Testing

@testable import IdentityWebView

@Suite(.timeLimit(.minutes(1))) struct WebViewPresenterTests {
    /// Runs in a separate process, in which GTK's main loop does not run.
    @Test func saysThatNoMainLoopRuns() async throws {
        await #expect(processExitsWith: .success) {
            let presenter = WebViewPresenter(timeout: .milliseconds(50)) { _ in }
            let listener = try await presenter.start(for: .loopback, responseMode: .query)
            let url = try #require(URL(string: "https://example.com/"))
            await #expect { try await presenter.open(url) } throws: { error in
                (error as? AuthenticationError)?.code == .browserUnavailable
            }
            // The receiver does not wait for a window that cannot appear.
            await #expect { try await listener.receive() } throws: { error in
                (error as? AuthenticationError)?.code == .browserUnavailable
            }
            await listener.close()
        }
    }

    @Test func fillsInTheOriginAndTheReason() {
        var texts = WebViewPresenter.Texts()
        texts.notLoaded = "{address} wurde nicht geladen: {reason}"
        texts.otherAddress = "eine andere Adresse"
        let origin = PageOrigin("https://id.example.com/authorize?x={reason}")
        #expect(
            texts.filled(texts.notLoaded, origin, reason: "weg") == "id.example.com wurde nicht geladen: weg"
        )
        #expect(texts.filled(texts.notLoaded, nil, reason: "weg") == "eine andere Adresse wurde nicht geladen: weg")
    }

    /// Without the check, WebKit would end the program.
    @Test func showsNothingWhereTheSandboxCannotBeStarted() async throws {
        let problem = "bwrap: setting up uid map: Permission denied"
        let presenter = WebViewPresenter(
            sandboxProblem: { _ in problem },
            shown: { _ in Issue.record("There is a view.") }
        )
        let listener = try await presenter.start(for: .loopback, responseMode: .query)
        let url = try #require(URL(string: "https://example.com/"))
        await #expect { try await presenter.open(url) } throws: { error in
            let error = error as? AuthenticationError
            return error?.code == .browserUnavailable
                && [problem, "AppArmor", "system's browser"].allSatisfy { error?.message.contains($0) == true }
        }
        await #expect { try await listener.receive() } throws: { error in
            (error as? AuthenticationError)?.code == .browserUnavailable
        }
        await listener.close()
    }
}
