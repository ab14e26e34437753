// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// A silent request after validation, in the form that the refresh needs.
struct SilentRequest: Sendable {
    let id: RecordID
    /// The authority, with the account's tenant in place of `common` or `organizations`.
    let authority: Authority
    /// The scopes in the order in which they are sent.
    let scopes: [String]
    let claims: String?
    let isForced: Bool
    let need: CredentialRequest

    /// Identifies the refused request beside its refresh token, because a Microsoft refresh token is good for many
    /// APIs.
    var refusalKey: String { authority.isMicrosoft ? throttleKey + (claims.map { "|" + $0 } ?? "") : "" }

    /// Names the request for the throttle.
    var throttleKey: String {
        let parts = [authority.url, id.accountID] + need.matchableScopes.sorted()
        return (parts + [need.binding?.name].compactMap(\.self)).joined(separator: "|")
    }
}

extension SilentRequest: Equatable {
    /// Whether the callers of both requests may share one refresh.
    ///
    /// A caller with a lower minimum validity may accept a token from another process that a caller with a higher one
    /// may not.
    static func == (first: SilentRequest, second: SilentRequest) -> Bool {
        first.id == second.id && first.authority == second.authority && first.claims == second.claims
            && first.isForced == second.isForced && first.need.minimumValidity == second.need.minimumValidity
            && first.need.refusedToken == second.need.refusedToken
            && first.need.matchableScopes == second.need.matchableScopes && first.need.binding == second.need.binding
    }
}
