// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Which refresh callers may share.
struct RefreshKey: Hashable, Sendable {
    var authority: Authority
    var scopes: Set<String>
    var claims: String?
    var isForced: Bool
    /// Seconds. Who wants less may be given what another process has put there, which is not enough for who wants more.
    var minimumValidity: Int64
}

/// A silent acquisition that was checked, in the form the refresh needs.
struct SilentRequest: Sendable {
    let id: RecordID
    /// With the tenant that is really meant in place of `common` or `organizations`.
    let authority: Authority
    /// In the order they are sent.
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

    /// What a refusal of the refresh token is about beside the token: at Microsoft's providers one is good for many APIs.
    var refusalKey: String { authority.isMicrosoft ? throttleKey + (claims.map { "|" + $0 } ?? "") : "" }

    /// Names the request for the throttle.
    var throttleKey: String {
        ([authority.url, id.accountID] + need.matchableScopes.sorted()).joined(separator: "|")
    }
}
