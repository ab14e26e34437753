// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// One way in which a resource asks for authentication, out of `WWW-Authenticate`.
///
/// Everything in it is the resource's word: an address in it is not followed.
/// - SeeAlso: [RFC 9110 §11.6.1](https://www.rfc-editor.org/rfc/rfc9110#section-11.6.1)
package struct AuthenticationChallenge: Hashable, Sendable {
    /// The scheme in lower case: `bearer`, `basic`, `dpop`.
    package let scheme: String

    /// What stands in place of parameters, as in `Negotiate YII=`.
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

    /// The claims that a Bearer challenge demands, as JSON text; `nil` where it demands none that can be passed on.
    ///
    /// They are written in base64, base64url or plainly; they must be a JSON object of at most 16 KiB. They count only
    /// where the error is `insufficient_claims`.
    package var claims: String? {
        guard scheme == "bearer", error == "insufficient_claims", let text = parameters["claims"],
            text.utf8.count <= Self.maximumClaimsLength * 4 / 3 + 4
        else { return nil }
        for bytes in [Base64URL.decodeLenient(text), Array(text.utf8)].compactMap(\.self) {
            guard bytes.count <= Self.maximumClaimsLength else { continue }
            // The reason is of no use to anyone.
            if (try? JSONObject(parsing: bytes)) != nil { return String(decoding: bytes, as: UTF8.self) }
        }
        return nil
    }

    private static let maximumClaimsLength = 16 * 1024
}

extension AuthenticationChallenge {
    /// The challenges of all fields of an answer, in their order.
    ///
    /// A challenge that has a parameter twice is left out, because two readers could understand it differently. What
    /// follows a mistake in a field is left out as well. Of more than 64 KiB nothing is read, of more than 32
    /// challenges the first 32.
    package static func parse(_ fieldValues: [String]) -> [AuthenticationChallenge] {
        guard fieldValues.reduce(0, { $0 + $1.utf8.count }) <= 64 * 1024 else { return [] }
        var challenges: [AuthenticationChallenge] = []
        for value in fieldValues {
            var parser = ChallengeParser(bytes: Array(value.utf8))
            parser.parse(into: &challenges, atMost: 32)
        }
        return challenges
    }
}
