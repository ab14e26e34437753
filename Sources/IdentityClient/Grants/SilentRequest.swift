// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Identifies the refreshes that several callers may share.
struct RefreshKey: Hashable, Sendable {
    var authority: Authority
    var scopes: Set<String>
    var claims: String?
    var isForced: Bool
    /// The least remaining lifetime, in seconds. A caller with a lower limit may accept a token from another process
    /// that a caller with a higher limit may not.
    var minimumValidity: Int64
}

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

    var refreshKey: RefreshKey {
        RefreshKey(
            authority: authority,
            scopes: need.matchableScopes,
            claims: claims,
            isForced: isForced,
            minimumValidity: need.minimumValidity
        )
    }

    /// Identifies the refused request beside its refresh token, because a Microsoft refresh token is good for many
    /// APIs.
    var refusalKey: String { authority.isMicrosoft ? throttleKey + (claims.map { "|" + $0 } ?? "") : "" }

    /// Names the request for the throttle.
    var throttleKey: String {
        ([authority.url, id.accountID] + need.matchableScopes.sorted()).joined(separator: "|")
    }
}
