// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import OAuthWire

extension AuthorizationRequest {
    /// Returns the request as data, so that another process, or this program after a restart, can finish the sign-in.
    ///
    /// The data is a secret: with it and the address at which the browser ends, anyone can finish the sign-in. Keep it where
    /// only the program can read and write it, in a file with mode 0600 for example, and remove it when the sign-in has
    /// ended. It is valid for ``InteractiveParameters/timeout`` after the preparation, and only for the same client and
    /// authority. Only this version of the library is sure to read it.
    ///
    /// ```swift
    /// let data = try request.serialized()
    /// // Later, in another process:
    /// let restored = try await app.restoreAuthorization(data)
    /// let result = try await app.completeAuthorization(restored, with: redirect)
    /// ```
    /// - Throws: `.invalidArgument` when the request was answered, or its time-out is not above 0 and at most a day.
    public func serialized() throws -> [UInt8] {
        guard !isAnswered, parameters.timeout > .zero, parameters.timeout <= .seconds(86_400) else {
            throw AuthenticationError(
                .invalidArgument,
                """
                Only a request that was not yet answered, with a time-out above 0 and at most a day, can be kept. Prepare a new one.
                """,
                correlationID: correlationID
            )
        }
        var data = JSONObject([
            ("version", .integer(AuthorizationRestoration.version)),
            ("clientID", .string(clientID)),
            ("authority", .string(authority.url)),
            ("validUntil", .integer(validUntil.unixSeconds)),
            ("url", .string(url.absoluteString)),
            ("redirectURI", .string(redirectURI)),
            ("correlationID", .string(correlationID.uuidString)),
            ("state", .string(state)),
            ("codeVerifier", .string(proofKey.verifier)),
            ("isAnsweredByForm", .bool(isAnsweredByForm)),
            ("requestedScopes", .strings(scopes)),
            ("scopes", .strings(parameters.scopes.map(\.rawValue).sorted())),
            ("acrValues", .strings(parameters.acrValues)),
            ("requiresACR", .bool(parameters.requiresACR)),
            ("requiredAMR", .strings(parameters.requiredAMR.sorted())),
            ("requiresPersistence", .bool(parameters.requiresPersistence)),
        ])
        data["issuer"] = metadata.issuer.map { .string($0) }
        data["urlExpiresOn"] = expiresOn.map { .integer($0.unixSeconds) }
        data["nonce"] = nonce.map { .string($0) }
        data["maxAge"] = maxAge.map { .integer($0) }
        data["claims"] = claims.map { .string($0) }
        data["proofKeyID"] = proof?.key.map { .string($0.keyID) }
        data["sshKey"] = proof?.binding.scheme.sshKey.map { .string(SSHPublicKey($0).description) }
        data["account"] = parameters.account.map { account in
            var object = JSONObject([
                ("id", .string(account.id.rawValue)),
                ("environment", .string(account.environment)),
                ("homeAccountID", .string(account.homeAccountID)),
            ])
            object["username"] = account.username.map { .string($0) }
            return .object(object)
        }
        return data.serialized()
    }
}

extension Date {
    fileprivate var unixSeconds: Int64 { Int64(timeIntervalSince1970.rounded(.down)) }
}
