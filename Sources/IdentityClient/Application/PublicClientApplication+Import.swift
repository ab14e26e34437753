// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
import OAuthWire

extension PublicClientApplication {
    /// Takes a person's sign-in over from another library, by the refresh token that the library has stored.
    ///
    /// For a program that changes from another library, NXOAuth2 or ADAL for example, to this one: call it once, with the
    /// same client ID, and delete the old token when the call has returned. The refresh token is redeemed at once. So it is
    /// known to be good, the provider says whose it is, and the account is stored as after a sign-in.
    ///
    /// ```swift
    /// let result = try await application.acquireToken(byRefreshToken: old, scopes: ["User.Read"])
    /// ```
    ///
    /// If the call throws, nothing is stored here and nothing is revoked, so that the other library's token stays as good
    /// as it was; only a provider that gives a new refresh token for each may have replaced it if its answer was lost or
    /// not believed. The cache is asked before, whether it can be written, and the provider's documents are fetched.
    ///
    /// - Parameters:
    ///   - refreshToken: The token alone. It was issued to this client.
    ///   - scopes: The scopes of the access token. At other providers than Microsoft it has those that were granted with
    ///     the refresh token, and at least one of these must be among them.
    ///   - authority: The provider, if it is not the configuration's: a tenant, for example.
    ///   - correlationID: An identifier for the request; `nil` for a new one.
    /// - Throws: `AuthenticationError.Code.signInExpired` and other codes of `.interactionRequired` when the provider
    ///   refuses the token: sign in interactively; `.clientNotRegistered` when the token belongs to another client;
    ///   `.scopesDeclined` when the account is stored, but none of the scopes was granted; `.unsupported` when the provider does not say whose the token is; `.cache` when nothing can be stored;
    ///   `.invalidArgument`, `.network`, `.serverUnavailable`; `CancellationError`.
    /// - SeeAlso: [RFC 6749 §6](https://www.rfc-editor.org/rfc/rfc6749#section-6)
    public func acquireToken(
        byRefreshToken refreshToken: String,
        scopes: Set<Scope> = [],
        authority: Authority? = nil,
        correlationID: UUID? = nil
    ) async throws -> AuthenticationResult {
        let flow = RefreshTokenImport(
            environment: environment,
            context: environment.context(correlationID),
            authority: authority,
            scopes: scopes
        )
        return try await flow.run(refreshToken)
    }

    /// Copies the client's accounts at this provider from another cache. An account that is signed in already stays as
    /// it is, and `source` is not changed.
    ///
    /// - Returns: The accounts that `source` has, and whether each is new here.
    /// - Throws: `AuthenticationError.cache` when one of the caches cannot be used; `CancellationError`.
    package func importAccounts(from source: any TokenCache) async throws -> [(account: Account, isNew: Bool)] {
        let store = environment.store
        let other = CredentialStore(cache: source, group: store.group, clientID: store.clientID)
        var accounts: [(account: Account, isNew: Bool)] = []
        for snapshot in try await other.allSnapshots().snapshots.values {
            var credentials = snapshot.credentials
            guard environment.clouds.contain(partition: credentials.partition),
                credentials.clientID == store.clientID
            else { continue }
            credentials.signInID = SecureRandom.token(bytes: 16)
            let id = RecordID(partition: credentials.partition, accountID: credentials.accountID.rawValue)
            let stored = try await store.update(id) { $0 ?? credentials }
            accounts.append((snapshot.account, stored?.credentials.signInID == credentials.signInID))
        }
        return accounts.sorted { ($0.account.username ?? "") < ($1.account.username ?? "") }
    }
}
