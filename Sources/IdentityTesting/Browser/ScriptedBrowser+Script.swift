// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

extension ScriptedBrowser {
    /// What the person does on the provider's pages.
    public struct Behaviour: Hashable, Sendable {
        enum Kind: Hashable, Sendable {
            case approve, deny, cancel, signUp, forgetPassword, abandon
        }

        let kind: Kind

        /// Signs in, and agrees to what is asked.
        public static let approve = Behaviour(kind: .approve)
        /// Signs in, and does not agree where consent is asked for.
        public static let deny = Behaviour(kind: .deny)
        /// Cancels on the first page that can be cancelled.
        public static let cancel = Behaviour(kind: .cancel)
        /// Signs up where the page offers it (B2C), and does as ``approve`` elsewhere.
        public static let signUp = Behaviour(kind: .signUp)
        /// Has forgotten the password, says so where the page offers it (B2C), and types it as a new one where that is
        /// asked for; cancels elsewhere.
        public static let forgetPassword = Behaviour(kind: .forgetPassword)
        /// Leaves the first page as it is.
        public static let abandon = Behaviour(kind: .abandon)

        /// The button to press, the best first.
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

    /// What goes wrong on the way back to the program.
    public struct Mischief: Sendable {
        enum Kind: Sendable {
            case strayRequest(String)
            case forgedFirst(String, String?)
            case change(String, String?)
            case repeatItem(String)
            case twice
        }

        let kind: Kind

        /// Before the redirect, something else asks for another path of the same port.
        public static func strayRequest(path: String = "/favicon.ico") -> Mischief {
            Mischief(kind: .strayRequest(path))
        }

        /// Before the redirect, a copy arrives in which a parameter has another value, or is missing.
        public static func forgedFirst(_ name: String, value: String?) -> Mischief {
            Mischief(kind: .forgedFirst(name, value))
        }

        /// A parameter of the redirect has another value, or is missing.
        public static func changing(_ name: String, to value: String?) -> Mischief {
            Mischief(kind: .change(name, value))
        }

        /// A parameter of the redirect is there twice.
        public static func repeating(_ name: String) -> Mischief { Mischief(kind: .repeatItem(name)) }

        /// The redirect arrives twice, as after "back" and "forward".
        public static let twice = Mischief(kind: .twice)
    }

    /// A page that the browser showed.
    public struct Page: Sendable {
        /// Its address without the query, in which there may be a code.
        public var address: String
        /// The HTTP status.
        public var status: Int
        /// The text of the page.
        public var body: String
    }
}
