// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import OAuthWire

extension Helper {
    static let xoauth2 = Helper(
        name: "xoauth2",
        options: ["--user"],
        help: "'helper xoauth2 --user NAME' prints what a mail program sends to sign in at Google or Microsoft.",
        answer: .call { call, session in
            try await answerMail(call, session) { try MailResponse.xoauth2(user: call.own["--user"] ?? "", token: $0) }
        }
    )

    static let oauthbearer = Helper(
        name: "oauthbearer",
        options: ["--user", "--host", "--port"],
        help: "'helper oauthbearer --user NAME --host SERVER --port PORT' prints it in the standard form.",
        answer: .call { call, session in
            let own = { (name: String) in call.own[name] ?? "" }
            try await answerMail(call, session) {
                try MailResponse.oauthbearer(user: own("--user"), host: own("--host"), port: own("--port"), token: $0)
            }
        }
    )

    private static func answerMail(
        _ call: HelperCall,
        _ session: Session,
        _ response: (_ token: String) throws -> String
    ) async throws {
        _ = try response("")  // A mistake in an option is found before the network is asked.
        try session.result(try response(try await call.source(in: session).anyToken(in: session).text))
    }
}

/// The initial responses by which a mail program proves to its server who the person is.
///
/// - SeeAlso: [RFC 7628 §3.1](https://www.rfc-editor.org/rfc/rfc7628#section-3.1),
///   [RFC 5801 §4](https://www.rfc-editor.org/rfc/rfc5801#section-4),
///   [XOAUTH2](https://developers.google.com/workspace/gmail/imap/xoauth2-protocol)
enum MailResponse {
    /// Returns the response of Google's and Microsoft's mechanism.
    ///
    /// - Throws: `UsageError` for a user with control characters, which would add a field.
    static func xoauth2(user: String, token: String) throws -> String {
        encode("user=\(try checked(user, "--user"))\u{1}auth=Bearer \(token)\u{1}\u{1}")
    }

    /// Returns the response of the standard mechanism. The user is escaped as the standard says.
    ///
    /// - Throws: `UsageError` for values with control characters, or a port that is none.
    static func oauthbearer(user: String, host: String, port: String, token: String) throws -> String {
        let user = try checked(user, "--user").unicodeScalars
            .map { (scalar: Unicode.Scalar) -> String in
                switch scalar {
                case "=": "=3D"
                case ",": "=2C"
                default: String(scalar)
                }
            }.joined()
        guard port.utf8.areDigits, let number = UInt16(port), number > 0 else {
            throw UsageError("--port: give a number from 1 to 65535, such as 993.")
        }
        let host = try checked(host, "--host")
        guard host.utf8.allSatisfy({ $0 > 0x20 }) else { throw UsageError("--host: blanks are not possible.") }
        return encode("n,a=\(user),\u{1}host=\(host)\u{1}port=\(number)\u{1}auth=Bearer \(token)\u{1}\u{1}")
    }

    private static func checked(_ text: String, _ option: String) throws -> String {
        guard !text.isEmpty, text.utf8.count <= 1024 else {
            throw UsageError("\(option): give a value of at most 1024 bytes.")
        }
        guard !text.utf8.hasControls else {
            throw UsageError("\(option): control characters are not possible.")
        }
        return text
    }

    private static func encode(_ text: String) -> String {
        Data(text.utf8).base64EncodedString() + "\n"
    }
}
