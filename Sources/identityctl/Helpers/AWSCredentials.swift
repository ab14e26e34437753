// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import OAuthWire

/// Credentials of AWS that last for some hours, in the form that its programs read.
///
/// - SeeAlso: [External process](https://docs.aws.amazon.com/sdkref/latest/guide/feature-process-credentials.html)
struct AWSCredentials: Hashable, Sendable {
    private let accessKeyID: String
    private let secretAccessKey: String
    private let sessionToken: String
    private let expiresOn: Date

    /// - Throws: `AuthenticationError` for a refusal, in the service's words, and for an answer that is none.
    init(status: Int, parsing body: [UInt8], from host: String, at now: Date) throws {
        let texts = try? XMLTexts(parsing: body)
        guard status == 200 else { throw Self.refusal(status, texts, host) }
        let place = "AssumeRoleWithWebIdentityResponse/AssumeRoleWithWebIdentityResult/Credentials/"
        func value(_ name: String) -> String? {
            texts?[place + name].flatMap { text in
                (1...16_384).contains(text.utf8.count) && text.utf8.areVisible ? text : nil
            }
        }
        guard let accessKeyID = value("AccessKeyId"), let secretAccessKey = value("SecretAccessKey"),
            let sessionToken = value("SessionToken"), let expiration = value("Expiration"),
            let expiresOn = Self.date(expiration)
        else {
            throw AuthenticationError(
                .malformedResponse,
                "\(host) sent no credentials that can be read. Check --region or --sts-endpoint."
            )
        }
        guard expiresOn > now else {
            throw AuthenticationError(
                .malformedResponse,
                "The credentials of \(host) expired at \(expiresOn.utcText). Check this computer's clock."
            )
        }
        self.accessKeyID = accessKeyID
        self.secretAccessKey = secretAccessKey
        self.sessionToken = sessionToken
        self.expiresOn = expiresOn
    }

    /// The answer to the program that asked.
    var answer: String {
        let answer = JSONObject([
            ("Version", .integer(1)), ("AccessKeyId", .string(accessKeyID)),
            ("SecretAccessKey", .string(secretAccessKey)),
            ("SessionToken", .string(sessionToken)), ("Expiration", .string(expiresOn.utcText)),
        ])
        return String(decoding: answer.serialized(), as: UTF8.self) + "\n"
    }

    /// Some compatible services write fractions of a second.
    private static func date(_ text: String) -> Date? {
        (try? Date(text, strategy: .iso8601))
            ?? (try? Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
    }

    private static func refusal(_ status: Int, _ texts: XMLTexts?, _ host: String) -> AuthenticationError {
        let code = texts?["ErrorResponse/Error/Code"].map(WireText.clean) ?? "http_\(status)"
        let (kind, message) = meaning(of: code, status, host)
        let server = ServerError(
            error: code,
            errorDescription: texts?["ErrorResponse/Error/Message"].map(WireText.clean),
            httpStatus: status
        )
        return AuthenticationError(kind, message, serverError: server)
    }

    /// Returns what a refusal means, and what to do.
    private static func meaning(of code: String, _ status: Int, _ host: String) -> (AuthenticationError.Code, String) {
        switch code {
        case "ExpiredTokenException", "ExpiredToken":
            (
                .invalidIDToken,
                "AWS takes the ID token for expired. Check this computer's clock, and run: identityctl token --force-refresh"
            )
        case "InvalidIdentityToken":
            (
                .clientNotRegistered,
                "AWS does not accept the ID token. In IAM, make an identity provider with the issuer, and the client id as "
                    + "its audience."
            )
        case "IDPRejectedClaim":
            (.invalidIDToken, "AWS rejects what the ID token says. Sign in again, or ask the provider's administrator.")
        case "AccessDenied", "AccessDeniedException":
            (
                .blockedByPolicy,
                "AWS does not give this person the role. Check its ARN, and the conditions in its trust policy."
            )
        case "ValidationError":
            (.invalidArgument, "AWS refuses a value. Check --role-arn, --role-session-name and --duration.")
        case "RegionDisabledException":
            (.configuration, "AWS has no service for this account in the region. Give another --region.")
        case "IDPCommunicationError":
            (.serverUnavailable, "AWS could not ask the provider for its keys. Try again later.")
        case _ where status >= 500 || status == 429 || code.hasPrefix("Throttling"):
            (.serverUnavailable, "\(host) is not available (status \(status)). Try again later.")
        case _ where (300..<400).contains(status):
            (
                .unexpectedRedirect,
                "\(host) redirects, and a token follows no redirect. Check --region or --sts-endpoint."
            )
        default: (.configuration, "\(host) refused the request (status \(status)).")
        }
    }
}
