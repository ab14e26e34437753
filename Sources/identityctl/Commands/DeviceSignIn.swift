// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import Synchronization

/// Signs in on another device: shows the address and the code, and waits.
struct DeviceSignIn {
    let application: PublicClientApplication
    let session: Session

    func run(_ parameters: DeviceCodeParameters) async throws -> AuthenticationResult {
        let (console, isJSON) = (session.console, session.isJSON)
        let lifetime = Mutex(Duration.seconds(900))
        let start = ContinuousClock.now
        return try await console.showingProgress { elapsed in
            "Waiting until you have signed in… \((lifetime.withLock(\.self) - elapsed).clockText) left. Ctrl-C gives up."
        } while: {
            try await application.acquireToken(withDeviceCode: parameters) { prompt in
                lifetime.withLock {
                    let seconds = prompt.expiresOn.timeIntervalSinceNow.rounded()
                    $0 = (ContinuousClock.now - start) + .seconds(Int64(seconds))
                }
                let lines = isJSON ? [JSONReport.deviceCode(prompt).line] : Self.lines(prompt, on: console)
                for line in lines { console.line(line) }
            }
        }
    }

    /// What the person reads. A QR code is only drawn on a terminal that is wide enough.
    private static func lines(_ prompt: DeviceCodePrompt, on console: Console) -> [String] {
        var lines = [
            "To sign in, open this address on any device:", "",
            "  \(prompt.verificationURI.absoluteString)", "",
            "and enter this code:", "",
            "  \(prompt.userCode.printable)", "",
        ]
        let address = (prompt.verificationURIComplete ?? prompt.verificationURI).absoluteString
        if console.isTerminal, let code = QRCode(Array(address.utf8)), code.columns <= StandardStream.error.columns {
            lines += code.terminalLines + [""]
        }
        return lines
    }
}
