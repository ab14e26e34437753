// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// A request, whichever door it came through.
struct ProviderRequest: Sendable {
    var method: String
    /// Scheme, host and port the sender used.
    var origin: String
    var path: String
    var query: [(String, String)]
    var form: [(String, String)]
    var headers: [(String, String)]
    /// Whether query and body could be read.
    var isReadable: Bool

    init(method: String, origin: String, target: String, headers: [(String, String)], body: [UInt8]) {
        self.method = method
        self.origin = origin
        self.headers = headers
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        path = parts.first.map(String.init) ?? ""
        let query = parts.count == 2 ? try? FormURLEncoded.decode(String(parts[1])) : []
        let form = try? FormURLEncoded.decode(String(decoding: body, as: UTF8.self))
        self.query = query ?? []
        self.form = form ?? []
        isReadable = query != nil && form != nil
    }

    /// The parameters of the message: of the body for a `POST`.
    var parameters: [(String, String)] { method == "POST" ? form : query }

    subscript(name: String) -> String? { parameters.first { $0.0 == name }?.1 }

    func header(_ name: String) -> String? { headers.first { $0.0.lowercased() == name }?.1 }

    /// A client and its secret, as HTTP Basic brings them.
    ///
    /// - SeeAlso: [RFC 6749 §2.3.1](https://www.rfc-editor.org/rfc/rfc6749#section-2.3.1)
    var basicCredentials: (clientID: String, secret: String)? {
        guard let field = header("authorization"), field.lowercased().hasPrefix("basic "),
            let pair = Base64URL.decodeLenient(field.dropFirst("basic ".count))
        else { return nil }
        let parts = String(decoding: pair, as: UTF8.self).split(
            separator: ":",
            maxSplits: 1,
            omittingEmptySubsequences: false
        )
        let texts = parts.compactMap { PercentEncoding.decode($0, plusIsSpace: true) }
        return texts.count == 2 ? (texts[0], texts[1]) : nil
    }

    func cookie(_ name: String) -> String? {
        let pairs = (header("cookie") ?? "").split(separator: ";").map { $0.drop { $0 == " " } }
        return pairs.first { $0.hasPrefix(name + "=") }.map { String($0.dropFirst(name.utf8.count + 1)) }
    }
}

/// A whole answer.
struct ProviderResponse: Sendable {
    var status: Int
    var headers: [(String, String)]
    var body: [UInt8]

    init(status: Int, headers: [(String, String)] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    static func json(_ object: JSONObject, status: Int = 200, headers: [(String, String)] = []) -> ProviderResponse {
        let own = [("Content-Type", "application/json; charset=utf-8"), ("Cache-Control", "no-store")]
        return ProviderResponse(status: status, headers: own + headers, body: object.serialized())
    }

    static func redirect(to url: String, headers: [(String, String)] = []) -> ProviderResponse {
        ProviderResponse(status: 303, headers: [("Location", url), ("Cache-Control", "no-store")] + headers)
    }
}

/// What a door does.
enum ProviderAnswer: Sendable {
    case response(ProviderResponse)
    /// The connection ends without an answer.
    case dropped
    /// The head and half of the body, then the connection ends.
    case truncated(ProviderResponse)
    /// A body that never ends.
    case endless(ProviderResponse)
}

/// A refusal in OAuth's words.
struct Refusal: Error, Sendable {
    var error: String
    var description: String
    var status = 400
    /// Entra's number, which starts its description.
    var number: Int?
    var suberror: String?
    var claims: String?

    init(
        _ error: String,
        _ description: String,
        status: Int = 400,
        number: Int? = nil,
        suberror: String? = nil,
        claims: String? = nil
    ) {
        self.error = error
        self.description = description
        self.status = status
        self.number = number
        self.suberror = suberror
        self.claims = claims
    }
}
