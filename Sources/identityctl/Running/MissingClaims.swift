// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import OAuthWire

/// The scopes that ask for claims about the person, where a sign-in did not bring them. They do not change what a token
/// permits, so that no token is missing; a program that reads the claims misses them.
enum MissingClaims {
    /// The claims that each scope asks for; one of them is enough.
    private static let claims: [Scope: [String]] = [
        .email: ["email"], .profile: ["name", "preferred_username", "given_name", "family_name", "nickname"],
    ]

    /// - Parameters:
    ///   - granted: The scopes of the answer.
    ///   - idToken: The claims of the ID token, as JSON.
    static func scopes(of wanted: Set<Scope>, granted: Set<Scope>, idToken: String?) -> [Scope] {
        // Many servers do not repeat the scopes about the sign-in. Their answers say nothing about them.
        guard granted.contains(.openID) else { return [] }
        let claimed = idToken.flatMap { try? JSONObject(parsing: Array($0.utf8)) } ?? JSONObject()
        return wanted.subtracting(granted).filter { scope in
            guard let claims = claims[scope] else { return false }
            return !claims.contains { claimed[$0] != nil }
        }
        .sorted { $0.rawValue < $1.rawValue }
    }
}

extension MissingClaims {
    /// Returns a sentence on the scopes that a token lacks, without its capital and its end; `nil` if it lacks none.
    ///
    /// - Parameter login: The command that asks for them.
    static func text(of result: AuthenticationResult, wanting scopes: Set<Scope>, login: String) -> String? {
        let profile = result.tenantProfile ?? result.account.tenantProfiles.first
        let missing = Self.scopes(of: scopes, granted: result.scopes, idToken: profile?.idTokenClaims)
        guard !missing.isEmpty else { return nil }
        let names = missing.map(\.rawValue).joined(separator: ", ")
        return "the sign-in did not bring \(names). To ask for it, run \(login)"
    }
}

extension Session {
    /// Warns, once for each text, if a token lacks a scope that asks for claims.
    func warn(ofClaimsMissingIn result: AuthenticationResult, wanting scopes: Set<Scope>) {
        let login = "'identityctl login' with the same options."
        guard let text = MissingClaims.text(of: result, wanting: scopes, login: login), isNew(warning: text)
        else { return }
        console.line("Warning: \(text)")
    }
}
