// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// A server's refusal, from the token endpoint or through the browser.
///
/// Texts are on one line, without control characters, and at most 1,000 characters long.
/// - SeeAlso: [RFC 6749 §5.2](https://www.rfc-editor.org/rfc/rfc6749#section-5.2),
///   [§4.1.2.1](https://www.rfc-editor.org/rfc/rfc6749#section-4.1.2.1)
package struct ErrorResponse: Error, Hashable, Sendable {
    package var error: String
    package var errorDescription: String?
    package var errorURI: String?
    /// `suberror`, or `error_subcode` in an answer through the browser.
    package var suberror: String?
    package var errorCodes: [Int]
    package var traceID: String?
    package var correlationID: String?
    package var timestamp: String?
    /// A claims request for a new sign-in: complete JSON; dropped if longer than 16 KiB.
    package var claims: String?

    /// Reads a JSON answer; `nil` if it has no `error`.
    ///
    /// Deviation: Twitch reports the state of a device's sign-in in `message`.
    package init?(_ json: JSONObject) {
        let word = json["error"] == nil ? Self.deviceWords.first { $0 == json.string("message") } : json.string("error")
        guard let error = word, !error.isEmpty else { return nil }
        self.init(error: error) { json.string($0) }
        if case .object(let object)? = json["claims"] {
            claims = Self.bounded(String(decoding: object.serialized(), as: UTF8.self))
        }
        errorCodes = (json.array("error_codes") ?? []).prefix(20).compactMap(\.integer)
    }

    /// The words of a refusal that is none of OAuth's, on one line; `nil` if there are none.
    ///
    /// Deviation: Okta's own errors have `errorSummary`, and Facebook's and Google's have an object in `error`.
    package static func foreignWords(_ json: JSONObject) -> String? {
        let inner = json.object("error")
        let texts = [
            json.string("errorSummary"), json.string("error_description"), json.string("message"),
            inner?.string("message"), json.string("detail"),
        ]
        return texts.lazy.compactMap(\.self).map(WireText.clean).first { !$0.isEmpty }
    }

    /// - SeeAlso: [RFC 8628 §3.5](https://www.rfc-editor.org/rfc/rfc8628#section-3.5)
    private static let deviceWords = ["authorization_pending", "slow_down", "access_denied", "expired_token"]

    /// Reads an answer through the browser; `nil` if it has no `error`.
    init?(query items: [(String, String)]) {
        func value(_ name: String) -> String? { items.first { $0.0 == name }?.1 }
        guard let error = value("error"), !error.isEmpty else { return nil }
        self.init(error: error, value)
        errorCodes = (value("error_codes") ?? "").split(separator: ",").prefix(20).compactMap { Int($0) }
    }

    private init(error: String, _ value: (String) -> String?) {
        func text(_ name: String) -> String? {
            guard let text = value(name).map(WireText.clean), !text.isEmpty else { return nil }
            return text
        }
        self.error = WireText.clean(error)
        errorDescription = text("error_description") ?? text("reason")  // Deviation: Zoom's word.
        errorURI = text("error_uri")
        suberror = text("suberror") ?? text("error_subcode")
        errorCodes = []
        traceID = text("trace_id")
        correlationID = text("correlation_id")
        timestamp = text("timestamp")
        claims = value("claims").flatMap(Self.bounded)
    }

    private static func bounded(_ claims: String) -> String? {
        claims.isEmpty || claims.utf8.count > 16_384 ? nil : claims
    }
}
