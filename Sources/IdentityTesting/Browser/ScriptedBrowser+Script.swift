// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import OAuthWire

extension ScriptedBrowser {
    /// The person's behavior on the provider's pages.
    ///
    /// ```swift
    /// browser.behaviour = .deny
    /// ```
    public struct Behaviour: Hashable, Sendable {
        enum Kind: Hashable, Sendable {
            case approve, deny, cancel, signUp, forgetPassword, abandon
        }

        let kind: Kind

        /// Signs in and gives consent.
        public static let approve = Behaviour(kind: .approve)
        /// Signs in and refuses consent. If no page asks for it, the visit fails with `.configuration`: name scopes in the provider's
        /// `settings.consentScopes`.
        public static let deny = Behaviour(kind: .deny)
        /// Cancels on the first page that can be cancelled.
        public static let cancel = Behaviour(kind: .cancel)
        /// Signs up if the page offers it (B2C); otherwise acts like ``approve``.
        public static let signUp = Behaviour(kind: .signUp)
        /// Reports a forgotten password if the page offers it (B2C), and types the person's password as the new password
        /// if the page asks for one. Cancels elsewhere.
        public static let forgetPassword = Behaviour(kind: .forgetPassword)
        /// Leaves the first page without an answer.
        public static let abandon = Behaviour(kind: .abandon)

        /// The buttons to press, in order of preference.
        var buttons: [String] {
            switch kind {
            case .approve: ["sign-in", "verify", "choose", "create", "reset", "save", "allow", "back"]
            case .deny: ["sign-in", "verify", "choose", "deny", "back"]
            case .cancel: ["cancel", "deny", "back"]
            case .signUp: ["sign-up", "create", "choose", "save", "allow", "back"]
            case .forgetPassword: ["forgot", "reset", "cancel", "deny", "back"]
            case .abandon: []
            }
        }
    }

    /// A disturbance on the way back to the program.
    ///
    /// ```swift
    /// browser.redirectFaults = [.forgedFirst("state", value: "guess")]
    /// ```
    public struct RedirectFault: Sendable {
        enum Kind: Sendable {
            case strayRequest(String)
            case forgedFirst(String, String?)
            case change(String, String?)
            case repeatItem(String)
            case twice
        }

        let kind: Kind

        /// Before the redirect, another request asks for a different path on the same port.
        public static func strayRequest(path: String = "/favicon.ico") -> RedirectFault {
            RedirectFault(kind: .strayRequest(path))
        }

        /// Before the redirect, a copy arrives in which a parameter has another value or is missing.
        public static func forgedFirst(_ name: String, value: String?) -> RedirectFault {
            RedirectFault(kind: .forgedFirst(name, value))
        }

        /// A parameter of the redirect has another value or is missing.
        public static func changing(_ name: String, to value: String?) -> RedirectFault {
            RedirectFault(kind: .change(name, value))
        }

        /// A parameter of the redirect appears twice.
        public static func repeating(_ name: String) -> RedirectFault { RedirectFault(kind: .repeatItem(name)) }

        /// The redirect arrives twice, as after "back" and "forward".
        public static let twice = RedirectFault(kind: .twice)
    }

    /// A page that the browser showed.
    ///
    /// ```swift
    /// #expect(try await browser.finalPage().body.contains("Signed in"))
    /// ```
    public struct Page: Sendable {
        /// The page's address without the query, which may contain a code.
        public var address: String
        /// The HTTP status.
        public var status: Int
        /// The text of the page.
        public var body: String
        /// Whether the person's answer led to the same page again.
        var isRepeated = false

        /// Why no sign-in comes of a visit that ends here; `nil` where the person may still act.
        var refusal: AuthenticationError? {
            let text = WireText.clean(HTMLForm.text(of: body)).prefix(300)
            if isRepeated {
                return AuthenticationError(
                    .configuration,
                    "The provider does not know this person, or does not accept what the person types: \(text)"
                )
            }
            guard status >= 400 else { return nil }
            return AuthenticationError(
                status >= 500 ? .serverUnavailable : .configuration,
                "The provider ended the visit with a page that leads nowhere (\(status)): \(text)"
            )
        }
    }
}
