// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

// The scopes of an answer in the spelling of its request.
extension TokenResponse {
    /// Returns the response with the requested scopes that it grants in another spelling, beside that spelling.
    ///
    /// Only the scopes of one request and of its answer are compared in this way. The cache compares scopes by their bytes.
    ///
    /// Deviation: Entra ID and B2C name a scope with or without its API, with `/` twice or at the end, and name the single
    /// scopes for `.default`. B2C answers `/` to the client's own identifier.
    ///
    /// Deviation: GitHub leaves a scope out that a wider one contains, as `user` contains `user:email`.
    ///
    /// - Parameter asked: The scopes that the request named.
    func namingScopes(as asked: [String], at authority: Authority) -> TokenResponse {
        guard let granted = scopes else { return self }
        let rule = authority.scopeRule
        let known = rule.matchable(granted)
        let missing = asked.filter { !rule.matchable([$0]).isSubset(of: known) }
        guard !missing.isEmpty else { return self }
        var response = self
        if authority.isMicrosoft {
            let names = granted.filter { !rule.isReserved($0) }.map(ScopeName.init)
            let wanted = asked.filter { !rule.isReserved($0) }.map(ScopeName.init)
            response.scopes = granted + missing.filter { ScopeName($0).isGranted(by: names, among: wanted) }
        } else if !authority.issuesIDTokens {
            response.scopes =
                granted
                + missing.filter { scope in
                    granted.contains { !$0.isEmpty && scope.utf8.starts(with: "\($0):".utf8) }
                }
        }
        return response
    }
}

/// A scope of Microsoft's providers in its parts.
private struct ScopeName {
    /// The API; `nil` if the scope does not name it.
    let resource: String?
    let name: String

    init(_ scope: String) {
        var parts = scope.lowercased().split(separator: "/", omittingEmptySubsequences: true).map(String.init)
        // "https:" and the host were parted.
        if parts.count > 1, let scheme = parts.first, scheme.utf8.last == UInt8(ascii: ":") {
            parts[0...1] = ["\(scheme)//\(parts[1])"]
        }
        name = parts.popLast() ?? ""
        resource = parts.isEmpty ? nil : parts.joined(separator: "/")
    }

    /// - Parameters:
    ///   - granted: The granted scopes.
    ///   - wanted: All requested scopes. A token is for one API, so a scope without its API is clear only if no other API's
    ///     scope has the same name.
    func isGranted(by granted: [ScopeName], among wanted: [ScopeName]) -> Bool {
        let isClear = wanted.count { $0.name == name } == 1
        return granted.contains { other in
            let isSameAPI = resource == other.resource || isClear && (resource == nil || other.resource == nil)
            if name == ".default" { return isSameAPI && (other.resource != nil || wanted.count == 1) }
            return isSameAPI && name == other.name || other.name.isEmpty && Authority.isGUID(name)
        }
    }
}
