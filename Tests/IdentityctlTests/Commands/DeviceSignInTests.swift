// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityTesting
import Logging
import Testing

@testable import identityctl

/// The screen of a person who signs in on another device.
@Suite struct DeviceSignInTests {
    private func screen(_ variables: [String: String], columns: Int?) async throws -> String {
        let provider = try TestIdentityProvider()
        provider.settings.deviceInterval = .seconds(1)
        let screen = Screen()
        let console = Console(isTerminal: true) {
            columns
        } write: { text in
            screen.write(text)
            let word = text.trimmingPrefix("  ").prefix { $0 != "\n" }
            if word.count == 9, word.contains("-") { _ = provider.approveDevice(userCode: String(word), as: .alice) }
        }
        let session = Session(
            TokenRoute(variables: Variables(variables)),
            console: console,
            isJSON: false,
            logLevel: .critical
        )
        let signIn = DeviceSignIn(application: try provider.application(), session: session)
        _ = try await signIn.run(DeviceCodeParameters(scopes: ["api.read"]))
        return screen.text
    }

    @Test(.timeLimit(.minutes(1))) func drawsTheAddressAndCountsTheTime() async throws {
        let text = try await screen(["TERM": "xterm", "LANG": "C.UTF-8"], columns: 80)
        #expect(text.contains("█") && text.contains("\r\u{1B}[KWaiting until you have signed in"))
        #expect(try await !screen(["TERM": "xterm", "LANG": "C"], columns: 80).contains("█"))
    }

    @Test(.timeLimit(.minutes(1)), arguments: [["TERM": "dumb"], ["TERM": "xterm", "ACCESSIBLE": "1"]])
    func saysOnceInTextThatItWaits(variables: [String: String]) async throws {
        let text = try await screen(variables, columns: nil)
        #expect(!text.contains("█") && !text.contains("\u{1B}"))
        let lines = text.split(separator: "\n")
        #expect(lines.count { $0.hasPrefix("Waiting until you have signed in… ") } == 1)
        #expect(lines.last?.hasSuffix("left. Ctrl-C gives up.") == true, "\(text)")
    }
}
