// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import OAuthWire

/// A sign-in with a browser on another computer. The person copies the addresses back and forth.
struct ManualSignIn {
    let application: PublicClientApplication
    let console: Console

    /// The most addresses that a person may paste.
    static let attempts = 3

    func run(_ parameters: InteractiveParameters) async throws -> AuthenticationResult {
        let request = try await application.prepareAuthorization(parameters)
        console.line("1. Open this address in a browser on any computer, and sign in:")
        console.line("")
        console.line("  \(request.url.absoluteString)")
        console.line("")
        if let expiresOn = request.expiresOn {
            let left = Duration.seconds(expiresOn.timeIntervalSinceNow)
            console.line("   It can be opened once, and no later than in \(left.clockText).")
        }
        console.line(
            "2. The browser ends at a page that it probably cannot show. That is right. Its address begins with"
        )
        console.line("   \(request.redirectURI)")
        console.line("   Copy the whole address and paste it here. Never paste it anywhere else: it signs in as you.")
        return try await Self.reading(console, until: .now + parameters.timeout, request.correlationID) { line in
            try await application.completeAuthorization(
                request,
                with: try PastedAddress(line, answering: request.url).url
            )
        }
    }

    /// Reads the address from standard input, several times if it is not the answer.
    ///
    /// - Parameters:
    ///   - attempts: The most lines that are read.
    ///   - finish: Finishes the sign-in with a line.
    static func reading(
        _ console: Console,
        attempts: Int = ManualSignIn.attempts,
        until deadline: ContinuousClock.Instant,
        _ correlationID: UUID?,
        finish: (String) async throws -> AuthenticationResult
    ) async throws -> AuthenticationResult {
        let terminal = QuietTerminal(0)
        defer { terminal?.restore() }
        let lines = try await LineReader(terminal: terminal)
        for attempt in 1...attempts {
            console.line(terminal == nil ? "Address:" : "Address (it is not shown; Return ends it):")
            let line = try await lines.next(until: deadline)
            do {
                return try await finish(line)
            } catch AuthenticationError.Code.stateMismatch where attempt < attempts {
                console.line(
                    "That is not the answer to this sign-in. Copy the whole address that the browser ended at."
                )
            } catch let error as PastedAddress.Unusable where attempt < attempts {
                console.line(error.description)
            } catch let error as PastedAddress.Unusable {
                throw AuthenticationError(.stateMismatch, error.description, correlationID: correlationID)
            }
        }
        throw CancellationError()
    }
}

/// The text that the person pasted: an address, perhaps with spaces or quotes around it from copying.
struct PastedAddress {
    let url: URL

    struct Unusable: Error, CustomStringConvertible {
        let description: String

        /// - Parameter fault: The reason, because a terminal does not show the text.
        static func noAddress(_ fault: String) -> Unusable {
            Unusable(
                description:
                    "That is not an address: \(fault). It begins like the one above, and has a question mark in it."
            )
        }
        static let noAnswer = Unusable(
            description:
                "That address has no answer in it (code or error). Copy the whole one that the browser ended at."
        )
        static let request = Unusable(
            description:
                "That is the address to open, not the one that the browser ended at. Open it, sign in, and copy the "
                + "address of the page that the browser shows then."
        )
    }

    /// - Parameter request: The address that the person was asked to open, if it is known.
    /// - Throws: `Unusable`
    init(_ line: String, answering request: URL? = nil) throws {
        var text = Substring(line)
        let pairs: [(Character, Character)] = [("\"", "\""), ("'", "'"), ("<", ">"), ("“", "”"), ("`", "`")]
        var isTrimmed = false
        while !isTrimmed {
            isTrimmed = true
            while text.first?.isWhitespace == true { text.removeFirst() }
            while text.last?.isWhitespace == true { text.removeLast() }
            for (opening, closing) in pairs where text.count >= 2 && text.first == opening && text.last == closing {
                text = text.dropFirst().dropLast()
                isTrimmed = false
            }
        }
        guard !text.isEmpty else { throw Unusable.noAddress("the text is empty") }
        guard text.utf8.areVisible else {
            throw Unusable.noAddress("there is a blank in it, or a character that no address has")
        }
        guard text.utf8.contains(UInt8(ascii: "?")) else { throw Unusable.noAddress("there is no question mark in it") }
        // Some browsers copy the address without `http://`, which only loopback hosts may have.
        let start = text.prefix { $0 != "/" && $0 != "?" }
        if WebAddress("http://\(start)") != nil { text = "http://" + text }
        guard let url = URL(string: String(text)), url.scheme != nil else {
            throw Unusable.noAddress("it begins with no scheme, such as http://")
        }
        if let request, Self.base(text).elementsEqual(Self.base(request.absoluteString)) { throw Unusable.request }
        let query = text.utf8.split(separator: UInt8(ascii: "?"), maxSplits: 1).last ?? text.utf8[...]
        let names = query.split(whereSeparator: { "&#".utf8.contains($0) }).map {
            $0.prefix { $0 != UInt8(ascii: "=") }
        }
        guard names.contains(where: { $0.elementsEqual("code".utf8) || $0.elementsEqual("error".utf8) }) else {
            throw Unusable.noAnswer
        }
        self.url = url
    }

    /// Returns the bytes of an address before its query.
    private static func base(_ address: some StringProtocol) -> some Sequence<UInt8> {
        Array(address.utf8).prefix { $0 != UInt8(ascii: "?") }
    }
}
