// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import Synchronization

extension PublicClientApplication {
    /// Signs in, and meanwhile shows on a terminal whether the program or the person has to act.
    func acquireTokenInteractively(
        _ parameters: InteractiveParameters,
        showingProgressOn console: Console
    ) async throws -> AuthenticationResult {
        let phase = Mutex<SignInPhase?>(nil)
        var parameters = parameters
        parameters.onProgress = { new in
            if case .browserUnavailable = new { return }  // the launcher has said so
            phase.withLock { $0 = new }
            let text = new.text(at: .now)
            console.progress(text)
            if case .waitingForPerson = new { console.notice(text) }
        }
        return try await console.showingProgress { _ in
            phase.withLock(\.self)?.text(at: .now) ?? "Preparing the sign-in…"
        } while: {
            try await acquireTokenInteractively(parameters)
        }
    }
}

extension SignInPhase {
    func text(at now: ContinuousClock.Instant) -> String {
        switch self {
        case .browserUnavailable(let message): message.printable
        case .waitingForPerson(let end):
            "Waiting until you have signed in… \((end - now).clockText) left. Ctrl-C gives up."
        case .redirectReceived: "Finishing the sign-in…"
        }
    }
}
