// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// When a set of scopes covers another.
///
/// RFC 6749 §3.3 makes scopes case-sensitive; Microsoft's providers answer `User.Read` to `user.read`. The scopes of
/// OpenID Connect itself say nothing about what an access token permits and are left out.
package struct ScopeRule: Hashable, Sendable {
    package let ignoresCase: Bool

    package init(ignoresCase: Bool) {
        self.ignoresCase = ignoresCase
    }

    /// Scopes that steer the sign-in rather than the access token.
    package static let reserved: Set<String> = ["openid", "profile", "email", "offline_access"]

    /// The scopes that matter for matching, in the form that is compared.
    package func matchable(_ scopes: some Sequence<String>) -> Set<String> {
        var result: Set<String> = []
        for scope in scopes {
            let scope = canonical(scope)
            if !Self.reserved.contains(scope) { result.insert(scope) }
        }
        return result
    }

    /// Whether a scope steers the sign-in. Its length alone answers for most.
    func isReserved(_ scope: String) -> Bool {
        switch scope.utf8.count {
        case 5, 6, 7, 14: Self.reserved.contains(canonical(scope))
        default: false
        }
    }

    /// The form in which a scope is compared. Costs nothing where it has it already.
    package func canonical(_ scope: String) -> String {
        guard ignoresCase, scope.utf8.contains(where: { (0x41...0x5A).contains($0) }) else { return scope }
        return scope.lowercased()
    }
}
