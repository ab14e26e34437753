// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

/// Advice for a browser that cannot be opened on this computer, or cannot come back to it.
struct ElsewhereAdvice {
    /// The options of the sign-in.
    let options: SharedOptions

    var command: String { "\(options.command("login --manual")) (or --device-code, where the provider offers it)" }

    /// Returns the advice for a failed sign-in in the browser.
    func after(_ error: any Error) -> String? {
        switch (error as? AuthenticationError)?.code {
        case .interactionTimedOut:
            """
            If the provider showed an error, check the client id and the redirect URI. If the browser ended at a page that it \
            could not show, it cannot come back here. Run: \(command)
            """
        case .browserUnavailable: "To sign in with a browser elsewhere, run: \(command)"
        default: nil
        }
    }
}
