// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// The `claims` parameter, from the caller's claims and the program's capabilities.
enum ClaimsParameter {
    /// - Throws: `.invalidArgument` if `claims` is not a JSON object. The message does not repeat the claims.
    static func merged(_ claims: String?, _ capabilities: [String]) throws -> String? {
        do {
            return try ClaimsParameterText.merging(claims: claims, capabilities: capabilities)
        } catch {
            throw AuthenticationError(
                .invalidArgument,
                "The claims are not a JSON object, or contradict the capabilities."
            )
        }
    }
}

extension Set<Scope> {
    /// The scopes in a stable order.
    ///
    /// - Throws: `.invalidArgument` if a scope has invalid characters (RFC 6749 §3.3).
    func checked() throws -> [String] {
        guard allSatisfy(\.isWellFormed) else {
            throw AuthenticationError(
                .invalidArgument,
                "A scope is empty, or has spaces, quotes, backslashes or other than ASCII characters. Give each scope by itself."
            )
        }
        return map(\.rawValue).sorted()
    }
}
