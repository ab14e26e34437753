// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import OAuthWire

extension Helper {
    static let google = Helper(
        name: "google",
        help: "'helper google' is the executable of Google's external accounts: it prints the ID token.",
        answer: .call(GoogleCredential.answer),
        // Google's libraries show what is on standard output, and take standard error for noise.
        failure: { cause, advice in
            GoogleCredential.failure(
                code: (cause as? AuthenticationError)?.code.description ?? "usage",
                message: Helper.text(of: cause, advice, joinedBy: " ")
            )
        }
    )
}

/// The answers of an executable that Google's libraries run for the token of another provider.
///
/// - SeeAlso: [AIP-4117](https://google.aip.dev/auth/4117), "Determining the subject token"
enum GoogleCredential {
    private static let tokenType = "urn:ietf:params:oauth:token-type:id_token"

    static func success(token: String, expiresOn: Date) -> String {
        line([
            ("version", .number("1")), ("success", .bool(true)), ("token_type", .string(tokenType)),
            ("id_token", .string(token)),
            ("expiration_time", .integer(Int64(expiresOn.timeIntervalSince1970.rounded(.down)))),
        ])
    }

    static func failure(code: String, message: String) -> String {
        line([
            ("version", .number("1")), ("success", .bool(false)), ("code", .string(code)),
            ("message", .string(message)),
        ])
    }

    private static func line(_ members: [(name: String, value: JSONValue)]) -> String {
        String(decoding: JSONObject(members).serialized(), as: UTF8.self)
    }

    fileprivate static func answer(_ call: HelperCall, _ session: Session) async throws {
        // An ID token alone: the type that the file names has to be the same.
        if let wanted = session.environment["GOOGLE_EXTERNAL_ACCOUNT_TOKEN_TYPE"], wanted != tokenType {
            throw UsageError("In Google's file, set subject_token_type to \(tokenType).")
        }
        let token = try await call.source(in: session).anyToken(in: session, wantsIDToken: true)
        try session.result(success(token: token.text, expiresOn: token.expiresOn) + "\n")
    }
}

extension IntegratedTool {
    static let google = IntegratedTool(name: "google", asks: .profile) { home in
        ShownIntegration(
            home: home,
            paths: [
                home.environment["GOOGLE_APPLICATION_CREDENTIALS"] ?? "\(home.configuration)/gcloud/identityctl.json"
            ],
            introduction: "Write this member into the external account in FILE, as 'credential_source':",
            words: "helper google",
            lines: { command in
                let text = JSONValue.string(command).jsonText
                return [#"{"executable": {"command": \#(text), "timeout_millis": 60000}}"#]
            }
        )
    }
}
