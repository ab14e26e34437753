// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import OAuthWire

/// Replaces every value that is not known to be harmless by a placeholder. The same value always becomes the same
/// placeholder, such as `<state 1>`, so that a reader sees where it returns.
struct Redaction {
    /// By the digests of the values.
    private var placeholders: [String: String] = [:]
    private var counts: [String: Int] = [:]
    /// The secrets, which ``withoutSecrets(_:)`` looks for, by their first bytes.
    private var secrets: [UInt64: [(text: [UInt8], placeholder: String)]] = [:]
    /// The client's identifier and the scopes of this program's own requests.
    private var known: Set<String> = []

    private static let maximumPlaceholders = 5_000
    /// A shorter value is kept or replaced by its name alone: it would be found in every text.
    private static let minimumSecret = 6
    private static let maximumItems = 200

    /// Replaces the values of a request's or an answer's parameters.
    ///
    /// - Parameter isOurs: Whether this program chose the values.
    mutating func items(_ items: [(String, String)], isOurs: Bool) -> JSONValue {
        var rows = items.prefix(Self.maximumItems).map { item in
            JSONValue.strings([name(item.0), text(item.1, named: item.0.lowercased(), isOurs: isOurs)])
        }
        if items.count > rows.count { rows.append(.string("and \(items.count - rows.count) more")) }
        return .array(rows)
    }

    /// Replaces the values in a JSON object.
    mutating func object(_ object: JSONObject) -> JSONObject {
        var copy = JSONObject()
        for member in object.members.prefix(Self.maximumItems) {
            copy[name(member.name)] = value(member.value, named: member.name.lowercased())
        }
        if object.members.count > Self.maximumItems { copy["…"] = .integer(object.members.count - Self.maximumItems) }
        return copy
    }

    private mutating func value(_ value: JSONValue, named name: String) -> JSONValue {
        switch value {
        case .null, .bool: value
        case .number(let text):
            RedactionRule.named(name).map { $0.allows(text) } == true ? value : .string(placeholder(text, named: name))
        case .string(let text):
            (name == "id_token" ? token(text) : nil) ?? .string(self.text(text, named: name, isOurs: false))
        case .array(let values):
            .array(
                values.prefix(Self.maximumItems).map { self.value($0, named: name) }
                    + (values.count > Self.maximumItems ? [.string("and more")] : [])
            )
        case .object(let object): .object(self.object(object))
        }
    }

    /// The parts of an ID token, whose values are replaced likewise. Its nonce has the placeholder of the request's.
    private mutating func token(_ text: String) -> JSONValue? {
        guard let token = try? JSONWebToken(compact: text) else { return nil }
        return .object(
            JSONObject([
                ("token", .string(placeholder(text, named: "id_token"))),
                ("header", .object(object(token.header))),
                ("claims", .object(object(token.claims))),
            ])
        )
    }

    /// Replaces a value, or the parts of it that are not harmless.
    ///
    /// - Parameter name: The value's name, in lower case.
    mutating func text(_ text: String, named name: String, isOurs: Bool) -> String {
        guard !text.isEmpty else { return "" }
        if text.utf8.count >= Self.minimumSecret, let known = placeholders[Self.digest(text)] { return known }
        guard let rule = RedactionRule.named(name) else {
            return placeholder(text, named: name) + (name == "error_description" ? Self.numbers(in: text) : "")
        }
        switch rule {
        case .address: return address(text, isOurs: isOurs)
        case .clientID:
            if isOurs, RedactionRule.isPlain(text) { known.insert(text) }
            return known.contains(text) ? text : placeholder(text, named: name)
        case .scopes:
            let scopes = WireText.words(text).prefix(Self.maximumItems).map { scope in
                if isOurs, RedactionRule.isPlain(scope) { known.insert(scope) }
                let isHarmless = known.contains(scope) || RedactionRule.isWord(scope)
                return isHarmless ? scope : placeholder(scope, named: name)
            }
            return scopes.joined(separator: " ")
        case .mediaTypes:
            let types = text.split(separator: ",").prefix(10).map { type in
                let essence = type.prefix { $0 != ";" }.filter { $0 != " " }.lowercased()
                let isHarmless = essence.split(separator: "/").allSatisfy {
                    $0 == "*" || $0.split(separator: "+").allSatisfy(RedactionRule.isWord)
                }
                return isHarmless ? essence : placeholder(essence, named: name)
            }
            return types.joined(separator: ", ")
        case .product where !isOurs: return placeholder(text, named: name)
        default: return rule.allows(text) ? text : placeholder(text, named: name)
        }
    }

    /// The scheme, host, port and path of an address, and its query with the values replaced.
    mutating func address(_ text: String, isOurs: Bool) -> String {
        let base = String(text.unicodeScalars.prefix { $0 != "?" && $0 != "#" })
        let query = String(text.unicodeScalars.drop { $0 != "?" && $0 != "#" }.dropFirst())
        let isHarmless = RedactionRule.isPlain(base) && (isOurs || WebAddress(base) != nil)
        let start = isHarmless ? base : placeholder(base, named: "address")
        guard !query.isEmpty else { return start }
        guard let items = try? FormURLEncoded.decode(query) else {
            return "\(start)?\(placeholder(query, named: "query"))"
        }
        let parts = items.map { "\(name($0.0))=\(self.text($0.1, named: $0.0.lowercased(), isOurs: isOurs))" }
        return "\(start)?\(parts.joined(separator: "&"))"
    }

    /// The name, or a placeholder if it has characters that names of parameters do not have.
    private mutating func name(_ name: String) -> String {
        RedactionRule.isName(name) ? name : placeholder(name, named: "name")
    }

    private mutating func placeholder(_ text: String, named name: String) -> String {
        let digest = Self.digest(text)
        if let placeholder = placeholders[digest] { return placeholder }
        let label = RedactionRule.isName(name) ? name : "value"
        guard placeholders.count < Self.maximumPlaceholders else { return "<\(label)>" }
        let number = counts[label, default: 0] + 1
        counts[label] = number
        let placeholder = "<\(label) \(number)>"
        placeholders[digest] = placeholder
        if RedactionRule.secretNames.contains(name), (Self.minimumSecret...16_384).contains(text.utf8.count) {
            let first = text.utf8.prefix(Self.minimumSecret).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            secrets[first, default: []].append((Array(text.utf8), placeholder))
        }
        return placeholder
    }

    private static func digest(_ text: String) -> String { Digest.hexadecimal(of: [text]) }

    /// Microsoft's numbers in a description, such as ` AADSTS50076`.
    private static func numbers(in text: String) -> String {
        let words = text.split { !($0.isASCII && ($0.isLetter || $0.isNumber)) }
        let numbers = words.filter { word in
            ["AADSTS", "AADB2C"].contains { word.hasPrefix($0) } && word.utf8.count <= 16
                && word.dropFirst(6).allSatisfy(\.isNumber)
        }
        return numbers.prefix(5).map { " \($0)" }.joined()
    }
}

extension Redaction {
    /// Replaces the secrets in texts that were kept before the secret was known, or that contain it.
    func withoutSecrets(_ value: JSONValue) -> JSONValue {
        switch value {
        case .string(let text): .string(withoutSecrets(text))
        case .array(let values): .array(values.map(withoutSecrets))
        case .object(let object):
            .object(JSONObject(object.members.map { (withoutSecrets($0.name), withoutSecrets($0.value)) }))
        case .null, .bool, .number: value
        }
    }

    private func withoutSecrets(_ text: String) -> String {
        let bytes = Array(text.utf8)
        let mask: UInt64 = 1 << (8 * UInt64(Self.minimumSecret)) - 1
        var window: UInt64 = 0
        for (index, byte) in bytes.enumerated() {
            window = (window << 8 | UInt64(byte)) & mask
            guard index + 1 >= Self.minimumSecret, let candidates = secrets[window] else { continue }
            let rest = bytes[(index + 1 - Self.minimumSecret)...]
            if let found = candidates.first(where: { rest.starts(with: $0.text) }) { return found.placeholder }
        }
        return text
    }
}

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
        (1...200).contains(text.utf8.count) && text.utf8.allSatisfy { $0.isVisible && $0 != 0x40 }
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
        case .number: (1...15).contains(text.utf8.count) && text.utf8.areDigits
        case .flag: ["true", "false", "0", "1"].contains(text)
        case .identifier:
            (1...64).contains(text.utf8.count) && text.utf8.allSatisfy { $0.isHexadecimal || $0 == 0x2D }
        case .time:
            HTTPDate.parse(text) != nil
                || (1...40).contains(text.utf8.count)
                    && text.utf8.allSatisfy { $0.isDigit || "-:.+TZ ".utf8.contains($0) }
        case .product: text.split(separator: " ").allSatisfy(Self.isPlain)
        case .published: Self.isPlain(text)
        case .clientID, .scopes, .address, .mediaTypes: false
        }
    }
}
