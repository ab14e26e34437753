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
        let told = idToken.flatMap { try? JSONObject(parsing: Array($0.utf8)) } ?? JSONObject()
        return wanted.subtracting(granted).filter { scope in
            guard let claims = claims[scope] else { return false }
            return !claims.contains { told[$0] != nil }
        }
        .sorted { $0.rawValue < $1.rawValue }
    }
}

extension Session {
    /// Warns if a token lacks a scope that asks for claims.
    func warn(ofClaimsMissingIn result: AuthenticationResult, wanting scopes: Set<Scope>) {
        let profile = result.tenantProfile ?? result.account.tenantProfiles.first
        let missing = MissingClaims.scopes(of: scopes, granted: result.scopes, idToken: profile?.idTokenClaims)
        guard !missing.isEmpty else { return }
        console.line(
            "Warning: the sign-in did not bring \(missing.map(\.rawValue).joined(separator: ", ")). To ask for it, run "
                + "'identityctl login' with the same options."
        )
    }
}
