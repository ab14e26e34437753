// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

// A family alone, as a code: for errors with no closer reason, and as a pattern of all of the family's codes.
extension AuthenticationError.Code {
    package static let interactionRequired = Self(rawValue: "interaction_required")
    package static let userCancelled = Self(rawValue: "user_cancelled")
    package static let interactionUnavailable = Self(rawValue: "interaction_unavailable")
    package static let scopesDeclined = Self(rawValue: "scopes_declined")
    package static let serverUnavailable = Self(rawValue: "server_unavailable")
    package static let network = Self(rawValue: "network")
    package static let cache = Self(rawValue: "cache")
    package static let invalidResponse = Self(rawValue: "invalid_response")
    package static let configuration = Self(rawValue: "configuration")
}

extension AuthenticationError.Code {
    // A person is needed
    /// This account is not signed in here, or it has neither a usable token nor a refresh token.
    public static let noTokensFound = Self(rawValue: "interaction_required.no_tokens")
    /// The provider wants the person to sign in again, and perhaps to do more, such as to confirm a second factor.
    public static let loginRequired = Self(rawValue: "interaction_required.login")
    /// The person has not yet agreed to these scopes.
    public static let consentRequired = Self(rawValue: "interaction_required.consent")
    /// Only an administrator can agree to these scopes.
    public static let adminConsentRequired = Self(rawValue: "interaction_required.admin_consent")
    /// The refresh token expired, was revoked or was used elsewhere.
    public static let signInExpired = Self(rawValue: "interaction_required.sign_in_expired")
    /// The person chose "forgot password" (B2C): start the password-reset policy.
    public static let passwordResetRequired = Self(rawValue: "interaction_required.password_reset")
    /// Several accounts are possible, named by the error's `matchingAccounts` if they are signed in here: choose one, or let
    /// the person choose.
    public static let accountSelectionRequired = Self(rawValue: "interaction_required.account_selection")
    /// The account was signed out while its token was refreshed.
    public static let accountRemoved = Self(rawValue: "interaction_required.account_removed")
    /// The API requires additional claims: pass the error's `claims` on.
    public static let claimsChallenge = Self(rawValue: "interaction_required.claims")
    /// The API requires scopes that the token lacks: sign in for them, with the error's `challenge`.
    public static let insufficientScope = Self(rawValue: "interaction_required.insufficient_scope")
    /// The API requires a newer or another kind of authentication, or a sign-in did not bring the required kind: sign in
    /// again, with the error's `challenge`.
    public static let insufficientUserAuthentication = Self(
        rawValue: "interaction_required.insufficient_user_authentication"
    )
    /// The person signed in with another account than requested: sign in again with the right account.
    public static let accountMismatch = Self(rawValue: "interaction_required.account_mismatch")

    // The sign-in was ended
    /// The person, or the provider on the person's behalf, refused.
    public static let accessDenied = Self(rawValue: "user_cancelled.access_denied")
    /// The person did not finish in time.
    public static let interactionTimedOut = Self(rawValue: "user_cancelled.timed_out")
    /// A newer sign-in replaced this sign-in.
    public static let interactionSuperseded = Self(rawValue: "user_cancelled.superseded")

    // The sign-in could not begin
    /// No browser could be opened here: show the address instead.
    public static let browserUnavailable = Self(rawValue: "interaction_unavailable.browser")
    /// Another sign-in of this application object is running.
    public static let interactionInProgress = Self(rawValue: "interaction_unavailable.in_progress")

    // The server
    /// The server asked to wait: try again after `retryAfter`.
    public static let throttled = Self(rawValue: "server_unavailable.throttled")
    /// The provider or the library stopped a loop of identical requests: wait for `retryAfter`, or some minutes.
    public static let requestLoop = Self(rawValue: "server_unavailable.loop")

    // The network
    /// The server did not answer in time.
    public static let networkTimedOut = Self(rawValue: "network.timed_out")
    /// The server's name could not be resolved.
    public static let nameNotResolved = Self(rawValue: "network.name_not_resolved")
    /// A token must be renewed, and the call may use the cache only: call again without `usesCacheOnly`.
    public static let networkNotAllowed = Self(rawValue: "network.not_allowed")
    /// There was no connection to the server, or the connection broke.
    public static let connectionFailed = Self(rawValue: "network.connection_failed")
    /// The server's certificate is not trusted, or TLS failed.
    public static let tlsFailed = Self(rawValue: "network.tls")
    /// The proxy refused the connection or could not be reached.
    public static let proxyFailed = Self(rawValue: "network.proxy")

    // The cache
    /// A record could not be read; it was set aside and reported.
    public static let cacheCorrupt = Self(rawValue: "cache.corrupt")
    /// Owner, mode or kind of the cache's files are wrong.
    public static let cachePermissions = Self(rawValue: "cache.permissions")
    /// Another process holds the cache, or a refresh, for too long; that process may be unable to store the answer.
    public static let cacheBusy = Self(rawValue: "cache.busy")
    /// There is no room to write.
    public static let cacheFull = Self(rawValue: "cache.full")
    /// A newer version of the library wrote the record.
    public static let cacheNewerVersion = Self(rawValue: "cache.newer_version")
    /// The key of the encrypted cache is unavailable now.
    public static let cacheKeyUnavailable = Self(rawValue: "cache.key_unavailable")
    /// A record was encrypted with another key, tampered with, or never encrypted; the record stays unchanged.
    public static let cacheUndecryptable = Self(rawValue: "cache.undecryptable")
    /// libsecret (libsecret-1.so.0) or GLib could not be loaded; the keyring needs both.
    public static let keyringLibraryMissing = Self(rawValue: "cache.keyring_library_missing")
    /// There is no session bus, which the keyring needs.
    public static let keyringNoSessionBus = Self(rawValue: "cache.keyring_no_session_bus")
    /// No keyring (Secret Service) runs in this session.
    public static let keyringNoService = Self(rawValue: "cache.keyring_no_service")
    /// The keyring has no default collection for tokens.
    public static let keyringNoDefaultCollection = Self(rawValue: "cache.keyring_no_default_collection")
    /// The keyring is locked.
    public static let keyringLocked = Self(rawValue: "cache.keyring_locked")
    /// The system does not let this program use the keyring.
    public static let keyringAccessDenied = Self(rawValue: "cache.keyring_access_denied")
    /// The person closed the dialog that unlocks the keyring.
    public static let keyringPromptDismissed = Self(rawValue: "cache.keyring_prompt_dismissed")
    /// The keyring, or the person in front of its dialog, did not answer in time.
    public static let keyringTimedOut = Self(rawValue: "cache.keyring_timed_out")

    // The answer failed a check
    /// The answer could not be read: it is malformed, above the limit, or a redirect that is not followed.
    public static let malformedResponse = Self(rawValue: "invalid_response.malformed")
    /// The redirect is not the answer to this request.
    public static let stateMismatch = Self(rawValue: "invalid_response.state")
    /// The ID token failed validation.
    public static let invalidIDToken = Self(rawValue: "invalid_response.id_token")
    /// The authority, or an endpoint it names, is not trusted.
    public static let untrustedAuthority = Self(rawValue: "invalid_response.untrusted_authority")

    // The set-up
    /// A parameter is not acceptable.
    public static let invalidArgument = Self(rawValue: "configuration.invalid_argument")
    /// The program cannot listen on the redirect address.
    public static let redirectUnavailable = Self(rawValue: "configuration.redirect_unavailable")
    /// The provider does not know this client, or not as a public client, or not with this redirect URI.
    public static let clientNotRegistered = Self(rawValue: "configuration.client_not_registered")
    /// The provider does not know a scope or its API, or does not allow the scope to this client.
    public static let invalidScope = Self(rawValue: "configuration.invalid_scope")
    /// The provider issues no tokens for this resource or audience (RFC 8707).
    public static let invalidTarget = Self(rawValue: "configuration.invalid_target")
    /// The organization's policy blocks this sign-in; asking again does not help.
    public static let blockedByPolicy = Self(rawValue: "configuration.blocked_by_policy")
    /// A file for sending or writing cannot be used.
    public static let fileUnavailable = Self(rawValue: "configuration.file_unavailable")
    /// No HTTP transport is available: libcurl (libcurl.so.4) could not be loaded.
    public static let transportUnavailable = Self(rawValue: "configuration.transport_unavailable")
    /// No identity broker could be asked: none is installed, or it cannot be reached from here.
    public static let brokerUnavailable = Self(rawValue: "configuration.broker_unavailable")
    /// The account belongs to another of Microsoft's clouds, and ``ClientConfiguration/Entra/isInstanceAware`` is off: sign in at
    /// the error's `redirectedAuthority`.
    public static let accountInAnotherCloud = Self(rawValue: "configuration.account_in_another_cloud")
    /// The provider does not offer a required feature.
    public static let unsupported = Self(rawValue: "configuration.unsupported")
}
