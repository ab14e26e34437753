// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import OAuthWire

/// A broker's words about a failure.
///
/// They come at the top of an answer, as an object or a text, or inside an answer that looks like tokens.
struct BrokerFailure: Hashable, Sendable {
    /// The reason as the broker gives it (`status`); `nil` if it is unknown or Himmelblau's 0.
    private enum Status: Int {
        case interactionRequired = 2
        case noNetwork, networkUnavailable, serverUnavailable, contractViolation, userCanceled, applicationCanceled
        case incorrectConfiguration, insufficientBuffer, authorityUntrusted, userSwitch, accountUnusable
        case dataRemovalRequired
    }

    private let status: Status?
    /// The broker's or Entra ID's text.
    private let words: String
    private let error: String?
    private let suberror: String?

    /// - Returns: `nil` if the answer is no failure.
    init?(_ reply: JSONObject) {
        let nested = reply.object("brokerTokenResponse")?["error"]
        guard let value = [reply["error"], nested].compactMap(\.self).first(where: { !$0.isNull }) else { return nil }
        guard case .object(let members) = value else {
            (status, words, error, suberror) = (nil, WireText.clean(value.string ?? "no words"), nil, nil)
            return
        }
        let diagnostics = members.object("diagnostics")
        status = members.integer("status").flatMap(Status.init)
        words = WireText.clean(members.string("context") ?? members.string("message") ?? "no words")
        error = diagnostics?.string("raw_error_code").flatMap(Self.word)
        suberror = diagnostics?.string("oauth2_sub_error_code").flatMap(Self.word)
    }

    func authenticationError(isSilent: Bool, correlationID: UUID) -> AuthenticationError {
        func make(_ code: AuthenticationError.Code, _ advice: String) -> AuthenticationError {
            AuthenticationError(code, "\(advice) It says: \(words)", correlationID: correlationID)
        }
        switch status {
        case .userCanceled, .applicationCanceled:
            return make(.userCancelled, "The sign-in in the identity broker's window was cancelled.")
        case .noNetwork, .networkUnavailable:
            return make(.network, "The identity broker could not reach Entra ID.")
        case _ where number != nil || error != nil:
            return passedOn(isSilent: isSilent, correlationID)
        case .interactionRequired, .accountUnusable, .dataRemovalRequired:
            return make(.interactionRequired, "The identity broker needs the person: sign in interactively.")
        case .contractViolation, .incorrectConfiguration, .insufficientBuffer:
            return make(
                .configuration,
                "The identity broker refuses the request. Check that the client's registration allows public client flows "
                    + "and has the broker's redirect URI."
            )
        case .authorityUntrusted:
            return make(.untrustedAuthority, "The identity broker does not serve this authority.")
        case .serverUnavailable, .userSwitch, nil:
            if words.lowercased().hasPrefix("not implemented") {
                return make(.unsupported, "This identity broker does not offer the call.")
            }
            return make(
                .serverUnavailable,
                "The identity broker could not do it now. Try again, or sign in interactively."
            )
        }
    }

    /// A refusal of Entra ID's, which counts as it does without a broker.
    private func passedOn(isSilent: Bool, _ correlationID: UUID) -> AuthenticationError {
        // A refusal without a name is a refusal of the grant.
        var members = JSONObject([("error", .string(error ?? (isSilent ? "invalid_grant" : "interaction_required")))])
        members["error_description"] = .string(words)
        members["suberror"] = suberror.map { .string($0) }
        members["error_codes"] = number.map { .array([.integer($0)]) }
        guard let response = ErrorResponse(members) else {
            return .brokerAnswer("its error has no name", correlationID)
        }
        return AuthenticationError.refusedThroughBroker(response, isSilent: isSilent, correlationID: correlationID)
    }

    /// Entra ID's number, which some brokers put into their text only.
    private var number: Int? {
        guard let start = words.firstRange(of: "AADSTS") else { return nil }
        return Int(words[start.upperBound...].prefix { $0.isASCII && $0.isNumber })
    }

    private static func word(_ text: String) -> String? {
        text.isEmpty || text.utf8.count > 100 ? nil : WireText.clean(text)
    }
}

extension AuthenticationError {
    static func brokerAnswer(_ reason: String, _ correlationID: UUID) -> AuthenticationError {
        AuthenticationError(
            .malformedResponse,
            "The identity broker's answer cannot be used: \(reason). Update the broker, or sign in without it.",
            correlationID: correlationID
        )
    }

    static func largeBrokerAnswer(_ correlationID: UUID) -> AuthenticationError {
        AuthenticationError(
            .malformedResponse,
            "The identity broker's answer is larger than 1 MiB. Update the broker, or sign in without it.",
            correlationID: correlationID
        )
    }
}
