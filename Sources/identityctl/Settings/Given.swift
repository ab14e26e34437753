// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

/// The text of an option, and the place where it was given. Errors about the option name that place.
struct Given: Hashable, Sendable {
    let text: String
    /// `--timeout`, or `IDENTITYCTL_TIMEOUT`, or a profile's file and line.
    let origin: String
    /// The account that the text names, if it is that of a profile's first sign-in.
    var account: ProfileAccount?

    /// Whether the text comes from the command line. A variable may be set for other commands.
    var isOption: Bool { origin.hasPrefix("--") }

    /// Whether the text stands on the command line, as an option or as the address that is called.
    var isOfCall: Bool { isOption || origin == Self.calledAddress }

    /// The origin of an address that a command calls.
    static let calledAddress = "the address"

    /// The text as a person knows it. Harmless to a terminal.
    var label: String { account?.label ?? text.printable }

    /// The words of the text, which spaces or lines separate.
    var words: [String] { text.split(whereSeparator: \.isWhitespace).map(String.init) }

    /// Returns the text as a time of at most a day.
    func seconds(from least: Int) throws -> Duration {
        guard let seconds = Int(text), (least...86_400).contains(seconds) else {
            throw error("'\(text.printable)' is not a whole number of seconds from \(least) to 86400 (a day).")
        }
        return .seconds(seconds)
    }

    /// The text as a time such as `30s`, `15m` or `8h`, at most a day; `nil` for any other text.
    var time: Duration? {
        let units: [Character: Int] = ["s": 1, "m": 60, "h": 3600]
        guard let unit = text.last.flatMap({ units[$0] }), let number = Int(text.dropLast()), number >= 0,
            number <= 86_400 / unit
        else { return nil }
        return .seconds(number * unit)
    }

    func error(_ message: String) -> UsageError {
        UsageError("\(origin): \(message)")
    }
}

extension Given {
    /// Returns the text as a client id.
    ///
    /// - Throws: `UsageError` that names the place, and not the text, which may be a secret.
    func clientID() throws -> ClientID {
        let id = ClientID(rawValue: text)
        try checkSendable(id.check)
        return id
    }

    /// Returns the text as a client secret.
    ///
    /// - Throws: `UsageError` that names the place, and not the text.
    func secret() throws -> ClientSecret {
        let secret = ClientSecret(rawValue: text)
        try checkSendable(secret.check)
        return secret
    }

    private func checkSendable(_ check: () throws -> Void) throws {
        do {
            try check()
        } catch let refusal as AuthenticationError {
            let hint = text.utf8.last == 0x0A ? " 'printf %s' adds no line end, as 'echo' does." : ""
            throw error(refusal.message + hint)
        }
    }

    /// The part of an address before `://`.
    var scheme: String {
        guard let end = text.utf8.firstIndex(of: UInt8(ascii: ":")), text[end...].hasPrefix("://") else { return "" }
        return text[..<end].lowercased()
    }

    /// Returns the value that `make` parses. If the library refuses the text, the error names the option.
    func checked<Value>(_ make: () throws -> Value) throws -> Value {
        do {
            return try make()
        } catch let refusal as AuthenticationError {
            throw error(refusal.message)
        }
    }
}
