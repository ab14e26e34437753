// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import OAuthWire

/// A request, received in the process or on loopback.
struct ProviderRequest: Sendable {
    var method: String
    /// The scheme, host and port that the sender used.
    var origin: String
    var path: String
    var query: [(String, String)]
    var form: [(String, String)]
    var headers: [(String, String)]
    var body: [UInt8]
    /// Whether the query and the body could be read.
    var isReadable: Bool

    init(method: String, origin: String, target: String, headers: [(String, String)], body: [UInt8]) {
        self.method = method
        self.origin = origin
        self.headers = headers
        self.body = body
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        path = parts.first.map(String.init) ?? ""
        let query = parts.count == 2 ? try? FormURLEncoded.decode(String(parts[1])) : []
        let form = try? FormURLEncoded.decode(String(decoding: body, as: UTF8.self))
        self.query = query ?? []
        self.form = form ?? []
        isReadable = query != nil && form != nil
    }

    /// The parameters of the message: those of the body for a `POST`, otherwise those of the query.
    var parameters: [(String, String)] { method == "POST" ? form : query }

    subscript(name: String) -> String? { parameters.first { $0.0 == name }?.1 }

    func header(_ name: String) -> String? { headers.first { $0.0.lowercased() == name }?.1 }

    /// The client and its secret from HTTP Basic authentication.
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

/// A request at an address of the provider, with the time at which the provider acts on it.
struct ProviderCall: Sendable {
    var message: ProviderRequest
    let address: ProviderAddress
    let now: Date

    var method: String { message.method }
    var form: [(String, String)] { message.form }
    var parameters: [(String, String)] { message.parameters }
    var isReadable: Bool { message.isReadable }
    var basicCredentials: (clientID: String, secret: String)? { message.basicCredentials }

    subscript(name: String) -> String? { message[name] }
    func header(_ name: String) -> String? { message.header(name) }
    func cookie(_ name: String) -> String? { message.cookie(name) }
}

/// A complete answer.
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

/// The way a request is answered.
enum ProviderAnswer: Sendable {
    case response(ProviderResponse)
    /// The connection ends without an answer.
    case dropped
    /// The connection ends after the head and half of the body.
    case truncated(ProviderResponse)
    /// A body that never ends.
    case endless(ProviderResponse)
}

/// A refusal with an OAuth error code.
struct Refusal: Error, Sendable {
    var error: String
    var description: String
    var status = 400
    /// Entra's error number, with which the description starts.
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
