// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

extension ClientConfiguration {
    /// Returns the scopes to request in addition to the program's own.
    func scopesToAdd(for authority: Authority, _ metadata: ProviderMetadata) -> [String] {
        if let defaultScopes = compatibility.defaultScopes { return defaultScopes.map(\.rawValue).sorted() }
        if case .oauth2 = authority.kind { return [] }
        return ["openid", "profile", "offline_access"].filter { scope in
            scope == "openid" || authority.isMicrosoft || metadata.scopes?.contains(scope) != false
        }
    }

    /// Throws if a sign-in would not get the ID token that identifies the person.
    ///
    /// - Throws: `.invalidArgument`.
    func checkNamesOpenID(_ scopes: Set<Scope>, at authority: Authority) throws {
        guard let defaultScopes = compatibility.defaultScopes, authority.issuesIDTokens,
            !defaultScopes.union(scopes).contains("openid")
        else {
            return
        }
        throw AuthenticationError(
            .invalidArgument,
            """
            This kind of authority needs openid: add it to the default scopes. A server without ID tokens is named by its \
            endpoints, as a plain OAuth 2.0 server.
            """
        )
    }
}

extension AuthenticationError {
    /// Returns the error with the scopes that the library added, if it refuses a scope: the refused scope may be one of
    /// them.
    func naming(_ sent: [String], beyond own: Set<Scope>) -> AuthenticationError {
        let added = sent.filter { !own.contains(Scope(rawValue: $0)) }.sorted()
        let isAboutScopes = ["invalid_scope", "not_allowed"].contains(serverError?.error)
        guard code == .invalidScope, isAboutScopes, !added.isEmpty else { return self }
        let asked = own.isEmpty ? "" : " Asked for: \(own.map(\.rawValue).sorted().joined(separator: ", "))."
        return AuthenticationError(
            code,
            "\(message)\(asked) Added by default: \(added.joined(separator: ", ")); set other default scopes to "
                + "leave one out.",
            serverError: serverError,
            correlationID: correlationID,
            timestamp: timestamp
        )
    }
}

extension EndpointOutcome<JSONObject> {
    /// The same as `members()`, of a request for scopes: a refusal of one names those that the program did not.
    func members(asking sent: [String], beyond own: Set<Scope>) throws(AuthenticationError) -> JSONObject {
        do { return try members() } catch { throw error.naming(sent, beyond: own) }
    }
}

extension [String] {
    func appendingMissing(_ others: [String]) -> [String] {
        self + others.filter { !contains($0) }
    }
}
