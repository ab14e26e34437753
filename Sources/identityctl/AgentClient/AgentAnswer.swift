// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import OAuthWire

/// The answers of the agent: oidc-agent's plain form, with members of our own.
enum AgentAnswer {
    /// The most bytes of an answer, which a client reads.
    static let maximumBytes = 1 << 20

    static func success(_ members: [(name: String, value: JSONValue)] = []) -> JSONObject {
        JSONObject([(name: "status", value: .string("success"))] + members)
    }

    /// Returns a text about an agent of another version than this program, as one that goes on after an upgrade; `nil` for the same.
    static func otherVersion(in status: JSONObject) -> String? {
        let version = status.string("version").map { "version \(WireText.clean($0))" } ?? "an older version"
        guard version != "version \(LibraryVersion.current)" else { return nil }
        return "the agent is \(version), this program version \(LibraryVersion.current); to change that, end it "
            + "('identityctl agent stop') and start it anew"
    }

    /// A token. A refresh token never.
    ///
    /// - Parameter serves: The address that was asked for and that the profile serves.
    static func token(
        _ result: AuthenticationResult,
        _ idToken: IDToken?,
        issuer: String,
        isPersistent: Bool,
        serves: String? = nil,
        username: String? = nil
    ) -> JSONObject {
        var report = JSONReport.result(result, persisted: isPersistent)
        report["accessToken"] = .null  // each token is sent once
        if let idToken {
            report["idToken"] = .null
            report["idTokenExpiresOn"] = .string(idToken.expiresOn.utcText)
        }
        var answer = success([
            ("access_token", .string(result.accessToken)), ("issuer", .string(issuer)),
            ("expires_at", .integer(Int64(result.expiresOn.timeIntervalSince1970))),
            ("token_type", .string(result.tokenType)),
            ("scope", .string(result.scopes.text)),
        ])
        answer["id_token"] = idToken.map { .string($0.text) }
        answer["id_token_expires_at"] = idToken.map { .integer(Int64($0.expiresOn.timeIntervalSince1970)) }
        answer["serves"] = serves.map { .string($0) }
        answer["username"] = username.map { .string($0) }
        answer["report"] = .object(report)
        return answer
    }

    /// An error, and in `info` the advice on it.
    static func failure(_ error: any Error, advice: String? = nil) -> JSONObject {
        var answer = JSONObject([
            ("status", .string("failure")), ("error", .string(JSONReport.message(of: error))),
        ])
        answer["info"] = advice.map { .string($0) }
        answer["code"] = .string(JSONReport.code(of: error))
        guard let known = error as? AuthenticationError else { return answer }
        answer["retry_after"] = known.retryAfter.map { .integer($0.wholeSeconds) }
        answer["claims"] = known.claims.map { .string($0) }
        answer["server_error"] = known.serverError.map { .string($0.error) }
        answer["server_error_description"] = known.serverError?.errorDescription.map { .string($0) }
        answer["correlation_id"] = known.correlationID.map { .string($0.text) }
        return answer
    }

    /// The error in an answer, with its advice in `underlyingError`; `nil` for a success.
    static func error(in answer: JSONObject) -> (any Error)? {
        guard answer.string("status") != "success" else { return nil }
        let message = answer.string("error").map(WireText.clean) ?? "The agent's answer cannot be read."
        switch answer.string("code") {
        case "account_not_chosen": return AccountNotChosen(message)
        case "other", nil: return SystemFailure(message)
        case let code?:
            return AuthenticationError(
                AuthenticationError.Code(rawValue: WireText.clean(code)),
                message,
                serverError: answer.string("server_error").map {
                    ServerError(
                        error: WireText.clean($0),
                        errorDescription: answer.string("server_error_description").map(WireText.clean)
                    )
                },
                claims: answer.string("claims"),
                retryAfter: answer.integer("retry_after").map { .seconds($0) },
                correlationID: answer.string("correlation_id").flatMap(UUID.init(uuidString:)),
                underlyingError: answer.string("info").map { AgentAdvice(text: WireText.clean($0)) }
            )
        }
    }
}

extension AuthenticationError.Code {
    /// No profile of the agent serves the address that a helper asks for.
    static let notServed = AuthenticationError.Code(rawValue: "cache.agent_not_served")
}

extension AuthenticationError {
    /// - Parameter name: The code after `cache.agent_`; such an error ends a command with status 4.
    static func agent(_ name: String, _ message: String) -> AuthenticationError {
        AuthenticationError(Code(rawValue: "cache.agent_\(name)"), message)
    }
}
