// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import OAuthWire

/// A request to the agent: oidc-agent's plain form, with members of our own.
///
/// - SeeAlso: [oidc-agent's IPC API](https://indigo-dc.gitbook.io/oidc-agent/api/api-ipc)
enum AgentRequest: Hashable, Sendable {
    /// The most bytes of a request.
    static let maximumBytes = 64 << 10

    case token(Token)
    case accounts
    case status
    case lock
    case unlock(PassPhrase?)
    case stop

    /// The pass phrase of a key file, for an agent without a terminal.
    struct PassPhrase: Hashable, Sendable {
        let key: String
        let text: String
    }

    /// The wanted token.
    struct Token: Hashable, Sendable {
        /// The profile's name, which oidc-agent calls the account.
        var profile: String?
        /// The address that the token is for. The profile must serve it.
        var serves: String?
        /// The username in the address that a helper was asked for. It chooses among profiles that serve it equally.
        var username: String?
        var issuer: String?
        var clientID: String?
        /// The person's account: an id or a username.
        var user: String?
        var scopes: Set<Scope> = []
        var audience: String?
        var claims: String?
        /// Seconds.
        var minimumValidity = 0
        var forcesRefresh = false
        /// The access token that an API refused, in place of which another one is wanted.
        var refusedToken: String?
        var wantsIDToken = false
        var usesCacheOnly = false
        var allowsExpiredToken = false
        /// The name that the program gives itself, which proves nothing.
        var hint: String?
    }
}

extension AgentRequest {
    /// - Throws: `UsageError` for anything but a known request with members of the right types.
    init(parsing bytes: [UInt8]) throws {
        let object: JSONObject
        do {
            object = try JSONObject(parsing: bytes, maximumDepth: 4)
        } catch {
            throw UsageError("Bad request: \(error).")
        }
        guard let name = object.string("request") else { throw UsageError("Bad request: 'request' is missing.") }
        switch name {
        case "access_token": self = .token(try Token(object))
        case "loaded_accounts", "account_list": self = .accounts
        case "status": self = .status
        case "lock": self = .lock
        case "unlock": self = .unlock(try PassPhrase(object))
        case "stop": self = .stop
        default: throw UsageError("Bad request: '\(WireText.clean(name))' is not a request that this agent answers.")
        }
    }

    /// The request as one line.
    var line: [UInt8] {
        let object =
            switch self {
            case .token(let token): token.object
            case .accounts: JSONObject([("request", .string("loaded_accounts"))])
            case .status: JSONObject([("request", .string("status"))])
            case .lock: JSONObject([("request", .string("lock"))])
            case .unlock(let passPhrase): passPhrase?.object ?? JSONObject([("request", .string("unlock"))])
            case .stop: JSONObject([("request", .string("stop"))])
            }
        return object.serialized() + [0x0A]
    }
}

extension AgentRequest.PassPhrase {
    fileprivate init?(_ object: JSONObject) throws {
        guard object["key"] != nil else { return nil }
        guard let key = object.string("key"), let text = object.string("pass_phrase") else {
            throw UsageError("Bad request: 'key' or 'pass_phrase' is not a text.")
        }
        (self.key, self.text) = (key, text)
    }

    fileprivate var object: JSONObject {
        JSONObject([("request", .string("unlock")), ("key", .string(key)), ("pass_phrase", .string(text))])
    }
}

extension AgentRequest.Token {
    fileprivate init(_ object: JSONObject) throws {
        profile = try Self.text("account", of: object)
        serves = try Self.text("serves", of: object)
        issuer = try Self.text("issuer", of: object)
        clientID = try Self.text("client_id", of: object)
        user = try Self.text("user", of: object)
        audience = try Self.text("audience", of: object)
        claims = try Self.text("claims", of: object)
        hint = try Self.text("application_hint", of: object)
        refusedToken = try Self.text("refused_token", of: object)
        username = try Self.text("username", of: object)
        let words = try Self.text("scope", of: object)?.split(separator: " ") ?? []
        scopes = Set(words.map { Scope(rawValue: String($0)) })
        forcesRefresh = try Self.flag("force_refresh", of: object)
        wantsIDToken = try Self.flag("id_token", of: object)
        usesCacheOnly = try Self.flag("cache_only", of: object)
        allowsExpiredToken = try Self.flag("allow_expired", of: object)
        if let value = object["min_valid_period"], !value.isNull {
            guard let seconds = value.integer, (0...86_400).contains(seconds) else {
                throw UsageError("Bad request: 'min_valid_period' is not a number of seconds from 0 to 86400.")
            }
            minimumValidity = seconds
        }
        if let claims, (try? JSONObject(parsing: Array(claims.utf8))) == nil {
            throw UsageError("Bad request: 'claims' is not the text of a JSON object.")
        }
    }

    fileprivate var object: JSONObject {
        var object = JSONObject([("request", .string("access_token"))])
        object["account"] = profile.map { .string($0) }
        object["serves"] = serves.map { .string($0) }
        object["issuer"] = issuer.map { .string($0) }
        object["client_id"] = clientID.map { .string($0) }
        object["user"] = user.map { .string($0) }
        if !scopes.isEmpty { object["scope"] = .string(scopes.text) }
        object["audience"] = audience.map { .string($0) }
        object["claims"] = claims.map { .string($0) }
        object["min_valid_period"] = .integer(minimumValidity)
        if forcesRefresh { object["force_refresh"] = .bool(true) }
        if wantsIDToken { object["id_token"] = .bool(true) }
        if usesCacheOnly { object["cache_only"] = .bool(true) }
        if allowsExpiredToken { object["allow_expired"] = .bool(true) }
        object["refused_token"] = refusedToken.map { .string($0) }
        object["username"] = username.map { .string($0) }
        object["application_hint"] = hint.map { .string($0) }
        return object
    }

    /// The text of a member; `nil` if it is absent or empty, as some clients write "absent".
    private static func text(_ name: String, of object: JSONObject) throws -> String? {
        guard let value = object[name], !value.isNull else { return nil }
        guard let text = value.string, !text.utf8.hasControls else {
            throw UsageError("Bad request: '\(name)' is not a text on one line.")
        }
        return text.isEmpty ? nil : text
    }

    private static func flag(_ name: String, of object: JSONObject) throws -> Bool {
        guard object[name]?.isNull == false else { return false }
        guard let flag = object.bool(name) else {
            throw UsageError("Bad request: '\(name)' is neither true nor false.")
        }
        return flag
    }
}

extension Set<Scope> {
    /// The scopes in order, as a request names them.
    var text: String { map(\.rawValue).sorted().joined(separator: " ") }
}
