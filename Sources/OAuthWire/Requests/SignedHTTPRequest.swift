// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

internal import Crypto

/// A statement that the holder of a key sends one request with an access token: Microsoft's scheme `PoP`.
///
/// The request's address was checked before. The body and the header fields are not covered.
/// - SeeAlso: [draft-ietf-oauth-signed-http-request-03 §3](https://datatracker.ietf.org/doc/html/draft-ietf-oauth-signed-http-request-03#section-3)
package struct SignedHTTPRequest: Hashable, Sendable {
    package var accessToken: String
    package var method: String
    /// The host, and the port unless it is the scheme's usual one.
    package var host: String
    /// The path as it is sent, percent-encoded.
    package var path: String
    /// The query as it is sent, without the question mark; `nil` if there is none.
    package var query: String?
    /// The server's nonce, if it gave one.
    package var nonce: String?
    /// The time in Unix seconds.
    package var timestamp: Int64

    package init(
        accessToken: String,
        method: String,
        host: String,
        path: String,
        query: String? = nil,
        nonce: String? = nil,
        timestamp: Int64
    ) {
        self.accessToken = accessToken
        self.method = method
        self.host = host
        self.path = path
        self.query = query
        self.nonce = nonce
        self.timestamp = timestamp
    }

    /// The statement in its compact form.
    package func signed(with key: PossessionKey) throws -> String {
        let text = JSONWebToken.signingInput(header: header(key), claims: claims(key))
        return JSONWebToken.compact(signingInput: text, signature: try key.signature(of: Array(text.utf8)))
    }

    func header(_ key: PossessionKey) -> JSONObject {
        JSONObject([
            ("alg", .string(PossessionKey.algorithm.rawValue)), ("kid", .string(key.keyID)), ("typ", .string("pop")),
        ])
    }

    func claims(_ key: PossessionKey) -> JSONObject {
        var claims = JSONObject([
            ("at", .string(accessToken)), ("ts", .integer(timestamp)), ("m", .string(method)), ("u", .string(host)),
            ("p", .string(path)), ("q", Self.queryClaim(query ?? "")),
        ])
        claims["nonce"] = nonce.map { .string($0) }
        claims["cnf"] = .object(JSONObject([("jwk", .object(key.publicKey))]))
        return claims
    }

    /// The names of the query's parameters, and the hash of the parameters, as they are sent. A name that occurs twice is
    /// left out, as the draft demands (§7.5); so is a parameter without a name or value, or with two equals signs, which
    /// Microsoft's validator does not see.
    private static func queryClaim(_ query: String) -> JSONValue {
        var parameters: [(name: Substring, text: Substring)] = []
        var counts: [Substring: Int] = [:]
        for text in query.unicodeScalars.split(separator: "&").map(Substring.init) {
            let parts = text.unicodeScalars.split(separator: "=", omittingEmptySubsequences: false).map(Substring.init)
            guard let name = parts.first, !name.isEmpty, parts.count == 2 else { continue }
            counts[name, default: 0] += 1
            if !parts[1].isEmpty { parameters.append((name, text)) }
        }
        let covered = parameters.filter { counts[$0.name] == 1 }
        let text = covered.map(\.text).joined(separator: "&")
        return .array([
            .strings(covered.map { String($0.name) }),
            .string(Base64URL.encode(Array(SHA256.hash(data: Array(text.utf8))))),
        ])
    }
}
