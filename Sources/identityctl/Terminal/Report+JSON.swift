// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import IdentityClient
import OAuthWire

/// The documented JSON objects.
enum JSONReport {
    static func result(_ result: AuthenticationResult, persisted: Bool) -> JSONObject {
        var report = JSONObject([
            ("accessToken", .string(result.accessToken)),
            ("tokenType", .string(result.tokenType)),
            ("expiresOn", .string(result.expiresOn.utcText)),
            ("scopes", .strings(result.scopes.map(\.rawValue).sorted())),
            ("account", .object(account(result.account, profile: result.tenantProfile))),
            ("source", .string(result.source.rawValue)),
            ("persisted", .bool(persisted)),
            ("correlationID", text(result.correlationID?.text)),
        ])
        report["expiredFor"] = result.expiredFor.map { .integer($0.wholeSeconds) }
        let members = result.additionalMembersObject
        if !members.isEmpty { report["additionalMembers"] = .object(members) }
        if result.isExtendedLifetimeToken { report["isExtendedLifetimeToken"] = .bool(true) }
        return report
    }

    /// Returns the header of one signed request. The token itself is in it, and of no use without it.
    static func header(_ header: String, of result: AuthenticationResult) -> JSONObject {
        JSONObject([
            ("authorizationHeader", .string(header)),
            ("tokenType", .string(result.tokenType)),
            ("expiresOn", .string(result.expiresOn.utcText)),
            ("scopes", .strings(result.scopes.map(\.rawValue).sorted())),
            ("account", .object(account(result.account, profile: result.tenantProfile))),
            ("source", .string(result.source.rawValue)),
        ])
    }

    /// Returns the token that an exchange gave.
    static func exchange(_ result: TokenExchangeResult) -> JSONObject {
        var report = JSONObject([
            ("token", .string(result.token.value)),
            ("issuedTokenType", .string(result.token.type.rawValue)),
            ("tokenType", .string(result.tokenType)),
            ("expiresOn", text(result.expiresOn?.utcText)),
            ("scopes", .strings(result.scopes.map(\.rawValue).sorted())),
            ("correlationID", .string(result.correlationID.text)),
        ])
        report["refreshToken"] = result.refreshToken.map { .string($0) }
        return report
    }

    /// Returns an SSH certificate, and the file that has it; `nil` for none.
    static func certificate(_ certificate: SSHCertificate, of result: AuthenticationResult, file: String?) -> JSONObject
    {
        JSONObject([
            ("certificate", .string(certificate.line)),
            ("file", text(file)),
            ("principals", .strings(certificate.principals)),
            ("expiresOn", .string(result.expiresOn.utcText)),
            ("account", .object(account(result.account, profile: result.tenantProfile))),
            ("source", .string(result.source.rawValue)),
        ])
    }

    static func accounts(_ accounts: [Account], default chosen: Account? = nil) -> [JSONObject] {
        accounts.map {
            var object = account($0, profile: nil)
            object["isDefault"] = .bool($0.id == chosen?.id)
            return object
        }
    }

    /// Returns the code and addresses that a person who signs in on another device sees.
    static func deviceCode(_ prompt: DeviceCodePrompt) -> JSONObject {
        let object = JSONObject([
            ("userCode", .string(prompt.userCode)),
            ("verificationURI", .string(prompt.verificationURI.absoluteString)),
            ("verificationURIComplete", text(prompt.verificationURIComplete?.absoluteString)),
            ("message", .string(prompt.message)),
            ("expiresOn", .string(prompt.expiresOn.utcText)),
        ])
        return JSONObject([("deviceCode", .object(object))])
    }

    /// Returns the outcome of a sign-out.
    static func signOut(_ account: Account, _ result: SignOutResult) -> JSONObject {
        JSONObject([
            ("account", .object(self.account(account, profile: nil))),
            ("revocation", .string(result.revocation.word)),
            ("browserSession", .string(result.browserSession.word)),
        ])
    }

    static func error(_ error: any Error) -> JSONObject {
        let known = error as? AuthenticationError
        var object = JSONObject([
            ("code", .string(code(of: error))),
            ("message", .string(message(of: error))),
        ])
        object["serverError"] = known?.serverError.map { .object(serverError($0)) }
        object["challenge"] = known?.challenge.map { .object(challenge($0)) }
        object["retryAfter"] = known?.retryAfter.map { .integer($0.wholeSeconds) }
        object["correlationID"] = text(known?.correlationID?.text)
        object["timestamp"] = text(known?.timestamp.utcText)
        if let refusal = error as? APIRefusal {
            for (name, value) in refusal.members { object[name] = value }
        }
        return JSONObject([("error", .object(object))])
    }

    /// Returns the error's code in the library's vocabulary.
    static func code(of error: any Error) -> String {
        switch error {
        case let error as AuthenticationError: error.code.rawValue
        case is CancellationError: AuthenticationError.Code.userCancelled.rawValue
        case is UsageError: AuthenticationError.Code.invalidArgument.rawValue
        case is APIRefusal: "unexpected_response"
        case is AccountNotChosen: "account_not_chosen"
        default: "other"
        }
    }

    static func message(of error: any Error) -> String {
        switch error {
        case let error as AuthenticationError: error.message
        case is CancellationError: "Cancelled."
        case let error as UsageError: error.message
        default: "\(error)"
        }
    }

    static func account(_ account: Account, profile: TenantProfile?) -> JSONObject {
        let home = account.tenantProfiles.first(where: \.isHomeTenant) ?? account.tenantProfiles.first
        let tenantID = (profile ?? home).flatMap { $0.isOfATenant(account) ? $0.tenantID : nil }
        var object = JSONObject([
            ("id", .string(account.id.rawValue)),
            ("username", text(account.username)),
            ("environment", .string(account.environment)),
            ("tenantID", text(tenantID.flatMap { $0.isEmpty ? nil : $0 })),
        ])
        object["refreshTokenExpiresOn"] = account.refreshTokenExpiresOn.map { .string($0.utcText) }
        return object
    }

    private static func challenge(_ challenge: ResourceChallenge) -> JSONObject {
        var object = JSONObject()
        let scopes = challenge.scopes.text
        object["scope"] = scopes.isEmpty ? nil : .string(scopes)
        object["acrValues"] = challenge.acrValues.isEmpty ? nil : .string(challenge.acrValues.joined(separator: " "))
        object["maxAge"] = challenge.maxAge.map { .string("\($0.wholeSeconds)") }
        return object
    }

    private static func serverError(_ error: ServerError) -> JSONObject {
        var object = JSONObject([("error", .string(error.error))])
        object["errorDescription"] = error.errorDescription.map { .string($0) }
        object["errorURI"] = error.errorURI.map { .string($0) }
        object["suberror"] = error.suberror.map { .string($0) }
        object["errorCodes"] = error.errorCodes.isEmpty ? nil : .array(error.errorCodes.map { .integer($0) })
        object["traceID"] = error.traceID.map { .string($0) }
        object["correlationID"] = error.correlationID.map { .string($0) }
        object["timestamp"] = error.timestamp.map { .string($0) }
        object["httpStatus"] = error.httpStatus.map { .integer($0) }
        return object
    }

    private static func text(_ text: String?) -> JSONValue {
        text.map { .string($0) } ?? .null
    }
}

extension TenantProfile {
    /// Whether the profile's tenant is one. Of any other provider it is a part of the issuer's path.
    fileprivate func isOfATenant(_ account: Account) -> Bool {
        guard account.id.rawValue.utf8.contains(UInt8(ascii: "|")) else { return true }
        let claims = idTokenClaims.flatMap { try? JSONObject(parsing: Array($0.utf8)) }
        return claims?.string("tid") != nil
    }
}

extension SignOutResult.Outcome {
    /// The case's name.
    fileprivate var word: String {
        if case .failed = self { "failed" } else { description }
    }
}

extension UUID {
    /// The identifier in lower case, as it is sent.
    var text: String { uuidString.lowercased() }
}

extension Duration {
    /// The whole seconds, rounded up, so that a program that waits this long has waited long enough.
    var wholeSeconds: Int64 {
        components.seconds + (components.attoseconds > 0 ? 1 : 0)
    }
}

extension JSONObject {
    /// The object as one line of text, without a line end and without characters that a terminal would obey.
    var line: String {
        String(decoding: serialized(), as: UTF8.self).printableJSON
    }
}

extension [JSONObject] {
    /// The array as one line of text, without a line end.
    var line: String {
        "[" + map(\.line).joined(separator: ",") + "]"
    }
}
