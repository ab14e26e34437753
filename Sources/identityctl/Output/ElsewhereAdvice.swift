// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

/// What to do where the browser cannot be opened on this computer, or cannot come back to it.
struct ElsewhereAdvice {
    /// Those of the sign-in.
    let options: SharedOptions

    var command: String { "\(options.command("login --manual")) (or --device-code, where the provider offers it)" }

    /// For a sign-in in the browser that failed.
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
