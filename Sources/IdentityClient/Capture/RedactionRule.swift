// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// A kind of value that is known to be harmless, and so is kept in a capture. Each kind has a form: any other text under
/// the same name is replaced.
enum RedactionRule {
    /// Words of the specifications, separated by spaces.
    case words
    /// Digits.
    case number
    /// `true`, `false` or a digit.
    case flag
    /// The client's identifier, which is not secret.
    case clientID
    /// Scopes that this program asked for, and words.
    case scopes
    /// An address, whose query is read as parameters.
    case address
    /// Hexadecimal digits and hyphens, such as a correlation identifier.
    case identifier
    /// A point in time: a date of HTTP, or digits.
    case time
    /// Media types, without their parameters.
    case mediaTypes
    /// The names and versions of programs, in this program's own requests.
    case product
    /// A list that a provider publishes about itself.
    case published

    /// The rule for a parameter, a header field or a member of JSON; `nil` for a name whose value is always replaced.
    static func named(_ name: String) -> RedactionRule? {
        if let rule = rules[name] { return rule }
        if name.hasSuffix("_supported") { return .published }
        return name.hasSuffix("_endpoint") ? .address : nil
    }

    private static let rules: [String: RedactionRule] = {
        let names: [(RedactionRule, String)] = [
            (
                .words,
                """
                grant_type response_type response_mode prompt error suberror error_subcode code_challenge_method token_type \
                token_type_hint display alg typ kty use crv acr amr acr_values subject_token_type actor_token_type \
                requested_token_type issued_token_type
                """
            ),
            (
                .number,
                """
                expires_in ext_expires_in refresh_in refresh_expires_in refresh_token_expires_in not_before interval max_age \
                exp iat nbf auth_time expires_on error_codes content-length age
                """
            ),
            (.flag, "client_info instance_aware return-client-request-id"),
            (.clientID, "client_id aud azp appid"),
            (.scopes, "scope scp"),
            (.address, "redirect_uri post_logout_redirect_uri issuer iss jwks_uri verification_uri resource audience"),
            (
                .identifier,
                """
                correlation_id trace_id client-request-id request-id x-ms-request-id x-request-id x-correlation-id
                """
            ),
            (.time, "date retry-after timestamp"),
            (.mediaTypes, "content-type accept"),
            (.product, "user-agent x-client-sku x-client-ver x-client-os x-client-cpu"),
        ]
        return Dictionary(uniqueKeysWithValues: names.flatMap { rule, list in WireText.words(list).map { ($0, rule) } })
    }()

    /// The names of values that are secrets wherever they stand. None of these values is left in a capture under another
    /// name, or as a part of another text, even if a rule would keep that.
    static let secretNames: Set<String> = [
        "access_token", "actor_token", "assertion", "authorization", "client_assertion", "client_secret", "code",
        "code_challenge",
        "code_verifier", "cookie", "device_code", "device_secret", "email", "id_token", "id_token_hint", "login_hint",
        "nonce",
        "password",
        "preferred_username", "proxy-authorization", "refresh_token", "request_uri", "set-cookie", "state", "sub",
        "subject_token",
        "token",
        "upn", "user_code", "username", "verification_uri_complete",
    ]

    /// Whether `text` has only lower-case letters and `_-.:`, as the words of the specifications do, or is one of their few
    /// others. A secret of random characters is none.
    static func isWord(_ text: some StringProtocol) -> Bool {
        (1...64).contains(text.utf8.count)
            && (text.utf8.allSatisfy { (0x61...0x7A).contains($0) || "_-.:".utf8.contains($0) }
                || otherWords.contains(String(text)))
    }

    private static let otherWords: Set<String> = [
        "Bearer", "DPoP", "EC", "ES256", "ES384", "ES512", "Ed25519", "EdDSA", "HS256", "JWT", "N_A", "OKP", "P-256",
        "P-384", "P-521", "PS256", "PS384", "PS512", "RS256", "RS384", "RS512", "RSA", "S256", "at+jwt",
        "urn:ietf:params:oauth:token-type:saml1", "urn:ietf:params:oauth:token-type:saml2",
    ]

    /// Whether `text` is visible ASCII without `@`, which would be an e-mail address, and not long.
    static func isPlain(_ text: some StringProtocol) -> Bool {
        (1...200).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x40 }
    }

    /// Whether `text` can be shown as the name of a parameter or a member.
    static func isName(_ text: String) -> Bool {
        (1...48).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                (0x61...0x7A).contains($0) || (0x41...0x5A).contains($0) || "_-.".utf8.contains($0)
            } || ["x5t#S256", "x5c", "x5t", "x5u"].contains(text)
    }

    /// Returns whether `text` has the form of this rule, as far as the form is the same everywhere.
    func allows(_ text: String) -> Bool {
        switch self {
        case .words: WireText.words(text).allSatisfy(Self.isWord)
        case .number: (1...15).contains(text.utf8.count) && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
        case .flag: ["true", "false", "0", "1"].contains(text)
        case .identifier:
            (1...64).contains(text.utf8.count) && text.utf8.allSatisfy { UInt8.isHexadecimal($0) || $0 == 0x2D }
        case .time:
            HTTPDate.parse(text) != nil
                || (1...40).contains(text.utf8.count)
                    && text.utf8.allSatisfy { (0x30...0x39).contains($0) || "-:.+TZ ".utf8.contains($0) }
        case .product: text.split(separator: " ").allSatisfy(Self.isPlain)
        case .published: Self.isPlain(text)
        case .clientID, .scopes, .address, .mediaTypes: false
        }
    }
}

extension UInt8 {
    fileprivate static func isHexadecimal(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte) || (0x41...0x46).contains(byte)
    }
}
