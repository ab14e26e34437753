// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// One challenge of a resource's `WWW-Authenticate` field.
///
/// Its content is untrusted: the library does not follow an address in it.
/// - SeeAlso: [RFC 9110 §11.6.1](https://www.rfc-editor.org/rfc/rfc9110#section-11.6.1)
package struct AuthenticationChallenge: Hashable, Sendable {
    /// The scheme in lower case: `bearer`, `basic`, `dpop`.
    package let scheme: String

    /// The token instead of parameters, as in `Negotiate YII=`.
    package let token68: String?

    /// The parameters, their names in lower case.
    package let parameters: [String: String]

    package init(scheme: String, token68: String? = nil, parameters: [String: String] = [:]) {
        self.scheme = scheme.lowercased()
        self.token68 = token68
        self.parameters = parameters
    }
}

extension AuthenticationChallenge {
    /// `error`, in lower case.
    /// - SeeAlso: [RFC 6750 §3](https://www.rfc-editor.org/rfc/rfc6750#section-3)
    package var error: String? { parameters["error"]?.lowercased() }

    /// The nonce that a PoP challenge demands of the next signed request; `nil` if there is none that may be signed.
    package var nonce: String? {
        scheme == "pop" ? parameters["nonce"].flatMap { Self.isNonce($0) ? $0 : nil } : nil
    }

    /// Whether a server's text is visible ASCII, and short: it is repeated in each request.
    private static func isNonce(_ text: String) -> Bool {
        (1...2048).contains(text.utf8.count) && text.utf8.areVisible
    }

    /// The nonce for the next signed request in the `Authentication-Info` fields of an answer. A field with a repeated
    /// parameter does not count.
    /// - SeeAlso: [RFC 9110 §11.6.3](https://www.rfc-editor.org/rfc/rfc9110#section-11.6.3)
    package static func nextNonce(in fieldValues: [String]) -> String? {
        guard fieldValues.reduce(0, { $0 + $1.utf8.count }) <= maximumLength else { return nil }
        return fieldValues.lazy.compactMap { value in
            var parser = ChallengeParser(bytes: Array(value.utf8))
            return parser.information()?["nextnonce"].flatMap { isNonce($0) ? $0 : nil }
        }.first
    }

    /// The claims that a Bearer or PoP challenge requires, as JSON text; `nil` if there are none to pass on.
    ///
    /// They are in base64, base64url or plain text, and must be a JSON object of at most 16 KiB. They count only if the
    /// error is `insufficient_claims`.
    package var claims: String? {
        guard isOfAToken, error == "insufficient_claims", let text = parameters["claims"],
            text.utf8.count <= Self.maximumClaimsLength * 4 / 3 + 4
        else { return nil }
        for bytes in [Base64URL.decodeLenient(text), Array(text.utf8)].compactMap(\.self) {
            guard bytes.count <= Self.maximumClaimsLength else { continue }
            // No caller needs the reason.
            if (try? JSONObject(parsing: bytes)) != nil { return String(decoding: bytes, as: UTF8.self) }
        }
        return nil
    }

    /// Whether the challenge is about an access token.
    package var isOfAToken: Bool { ["bearer", "pop", "dpop"].contains(scheme) }

    private static let maximumClaimsLength = 16 * 1024
    private static let maximumLength = 64 * 1024
}

extension AuthenticationChallenge {
    /// The challenges of all fields of an answer, in their order.
    ///
    /// A challenge with a repeated parameter is omitted, because two readers could understand it differently. So is the
    /// rest of a field after a mistake. More than 64 KiB are not read; of more than 32 challenges only the first 32
    /// count.
    package static func parse(_ fieldValues: [String]) -> [AuthenticationChallenge] {
        guard fieldValues.reduce(0, { $0 + $1.utf8.count }) <= maximumLength else { return [] }
        var challenges: [AuthenticationChallenge] = []
        for value in fieldValues {
            var parser = ChallengeParser(bytes: Array(value.utf8))
            parser.parse(into: &challenges, atMost: 32)
        }
        return challenges
    }
}
