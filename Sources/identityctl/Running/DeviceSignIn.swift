// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import Synchronization

/// A sign-in on another device: it shows the address and the code, and waits.
struct DeviceSignIn {
    let application: PublicClientApplication
    let session: Session

    func run(_ parameters: DeviceCodeParameters) async throws -> AuthenticationResult {
        let session = session
        let console = session.console
        let lifetime = Mutex(Duration.seconds(900))
        let start = ContinuousClock.now
        let text = { @Sendable (elapsed: Duration) in
            SignInPhase.waitingForPerson(until: start + lifetime.withLock(\.self)).text(at: start + elapsed)
        }
        return try await console.showingProgress(text) {
            try await application.acquireTokenWithDeviceCode(parameters) { prompt in
                lifetime.withLock {
                    let seconds = prompt.expiresOn.timeIntervalSinceNow.rounded()
                    $0 = (ContinuousClock.now - start) + .seconds(Int64(seconds))
                }
                let lines = session.isJSON ? [JSONReport.deviceCode(prompt).line] : Self.lines(prompt, session)
                for line in lines { console.line(line) }
                if !session.isJSON { console.notice(text(.now - start)) }
            }
        }
    }

    /// Returns advice for the person if the provider does not support device sign-in.
    static func advice(on error: any Error) -> String? {
        guard case AuthenticationError.Code.unsupported = error else { return nil }
        return """
            To name an endpoint that the provider does not publish, give --device-authorization-endpoint URL. Where it has no \
            ID tokens for other devices, give --authorization-endpoint URL and --token-endpoint URL as well, in place of \
            --issuer.
            """
    }

    /// Returns the lines that the person reads. They contain a QR code only on a terminal that is wide enough.
    private static func lines(_ prompt: DeviceCodePrompt, _ session: Session) -> [String] {
        var lines = [
            "To sign in, open this address on any device:", "",
            "  \(prompt.verificationURI.absoluteString)", "",
            "and enter this code:", "",
            "  \(prompt.userCode.printable)", "",
        ]
        let address = (prompt.verificationURIComplete ?? prompt.verificationURI).absoluteString
        if session.console.isTerminal, session.environment.canDraw, let code = QRCode(Array(address.utf8)),
            let columns = session.console.columns(),
            code.columns <= columns
        {
            lines += code.terminalLines(isColored: !session.environment.isColorless) + [""]
        }
        return lines
    }
}
