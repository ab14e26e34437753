// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

extension AuthenticationError.Code {
    // A person is needed
    /// A person is needed: call `acquireTokenInteractively` with the same scopes.
    public static let interactionRequired = Self(rawValue: "interaction_required")
    /// Nobody is signed in with this account here, or there is neither a token that will do nor a refresh token.
    public static let noTokensFound = Self(rawValue: "interaction_required.no_tokens")
    /// The provider wants the person to sign in again.
    public static let loginRequired = Self(rawValue: "interaction_required.login")
    /// The person has not yet agreed to these scopes.
    public static let consentRequired = Self(rawValue: "interaction_required.consent")
    /// Only an administrator can agree to these scopes.
    public static let adminConsentRequired = Self(rawValue: "interaction_required.admin_consent")
    /// The refresh token expired, was revoked or was used elsewhere.
    public static let signInExpired = Self(rawValue: "interaction_required.sign_in_expired")
    /// The person can settle it while signing in, for example with a second factor.
    public static let basicAction = Self(rawValue: "interaction_required.basic_action")
    /// The person has to act outside the sign-in, for example enrol the device.
    public static let additionalAction = Self(rawValue: "interaction_required.additional_action")
    /// The sign-in page will only explain why it is refused.
    public static let messageOnly = Self(rawValue: "interaction_required.message_only")
    /// The password expired and is to be changed while signing in.
    public static let passwordExpired = Self(rawValue: "interaction_required.password_expired")
    /// The person chose "forgot password" (B2C): start the password-reset policy.
    public static let passwordResetRequired = Self(rawValue: "interaction_required.password_reset")
    /// The person has to choose an account.
    public static let accountSelectionRequired = Self(rawValue: "interaction_required.account_selection")
    /// The account was signed out while its token was refreshed.
    public static let accountRemoved = Self(rawValue: "interaction_required.account_removed")
    /// The API demands more of the sign-in: pass the error's `claims` on.
    public static let claimsChallenge = Self(rawValue: "interaction_required.claims")
    /// The person signed in with another account than the one that was asked for: sign in again with the right one.
    public static let accountMismatch = Self(rawValue: "interaction_required.account_mismatch")

    // The sign-in was ended
    /// The sign-in was ended before it was finished.
    public static let userCancelled = Self(rawValue: "user_cancelled")
    /// The person, or the provider on their behalf, said no.
    public static let accessDenied = Self(rawValue: "user_cancelled.access_denied")
    /// The person did not finish in time.
    public static let interactionTimedOut = Self(rawValue: "user_cancelled.timed_out")
    /// A newer sign-in took this one's place.
    public static let interactionSuperseded = Self(rawValue: "user_cancelled.superseded")

    // The sign-in could not begin
    /// The sign-in could not be shown to the person. The person did not end it: say why, and offer another way.
    public static let interactionUnavailable = Self(rawValue: "interaction_unavailable")
    /// No browser could be opened here: show the address instead.
    public static let browserUnavailable = Self(rawValue: "interaction_unavailable.browser")
    /// Another sign-in of this application object is under way.
    public static let interactionInProgress = Self(rawValue: "interaction_unavailable.in_progress")

    // Fewer scopes
    /// None of the scopes that were asked for was granted; the person is signed in all the same.
    public static let scopesDeclined = Self(rawValue: "scopes_declined")

    // The server
    /// The server cannot answer now: try again later.
    public static let serverUnavailable = Self(rawValue: "server_unavailable")
    /// The server asked to wait: try again after `retryAfter`.
    public static let throttled = Self(rawValue: "server_unavailable.throttled")
    /// A loop of identical requests was stopped, by the provider or on this side: wait for `retryAfter`, or some minutes.
    public static let requestLoop = Self(rawValue: "server_unavailable.loop")

    // The network
    /// The server could not be reached. Nobody has to sign in again for this.
    public static let network = Self(rawValue: "network")
    /// The server did not answer in time.
    public static let networkTimedOut = Self(rawValue: "network.timed_out")
    /// The server's name could not be resolved.
    public static let nameNotResolved = Self(rawValue: "network.name_not_resolved")
    /// No connection to the server, or it broke.
    public static let connectionFailed = Self(rawValue: "network.connection_failed")
    /// The server's certificate is not trusted, or TLS failed.
    public static let tlsFailed = Self(rawValue: "network.tls")
    /// The proxy refused or could not be reached.
    public static let proxyFailed = Self(rawValue: "network.proxy")

    // The cache
    /// The place where tokens rest cannot be used now. Nobody has to sign in again for this.
    public static let cache = Self(rawValue: "cache")
    /// A record could not be read; it was set aside and reported.
    public static let cacheCorrupt = Self(rawValue: "cache.corrupt")
    /// Owner, mode or kind of the cache's files are not as they must be.
    public static let cachePermissions = Self(rawValue: "cache.permissions")
    /// Another process holds the cache, or a refresh, for too long; it may be unable to store the answer.
    public static let cacheBusy = Self(rawValue: "cache.busy")
    /// There is no room to write.
    public static let cacheFull = Self(rawValue: "cache.full")
    /// The record was written by a newer version of the library.
    public static let cacheNewerVersion = Self(rawValue: "cache.newer_version")
    /// The key that the cache is encrypted with cannot be had now.
    public static let cacheKeyUnavailable = Self(rawValue: "cache.key_unavailable")
    /// A record was encrypted with another key, changed by someone, or never encrypted; it was left as it is.
    public static let cacheUndecryptable = Self(rawValue: "cache.undecryptable")
    /// libsecret (libsecret-1.so.0) or GLib could not be loaded, without which the keyring cannot be used.
    public static let keyringLibraryMissing = Self(rawValue: "cache.keyring_library_missing")
    /// There is no session bus, over which the keyring is reached.
    public static let keyringNoSessionBus = Self(rawValue: "cache.keyring_no_session_bus")
    /// No keyring runs in this session: nobody provides a Secret Service.
    public static let keyringNoService = Self(rawValue: "cache.keyring_no_service")
    /// The keyring has no default collection to keep tokens in.
    public static let keyringNoDefaultCollection = Self(rawValue: "cache.keyring_no_default_collection")
    /// The keyring is locked.
    public static let keyringLocked = Self(rawValue: "cache.keyring_locked")
    /// The system does not let this program use the keyring.
    public static let keyringAccessDenied = Self(rawValue: "cache.keyring_access_denied")
    /// The person closed the dialog that would have unlocked the keyring.
    public static let keyringPromptDismissed = Self(rawValue: "cache.keyring_prompt_dismissed")
    /// The keyring, or the person in front of its dialog, did not answer in time.
    public static let keyringTimedOut = Self(rawValue: "cache.keyring_timed_out")

    // Not believed
    /// The server's answer was not believed.
    public static let invalidResponse = Self(rawValue: "invalid_response")
    /// The answer could not be read.
    public static let malformedResponse = Self(rawValue: "invalid_response.malformed")
    /// The answer was larger than its reader allows: 1 MiB from a provider.
    public static let responseTooLarge = Self(rawValue: "invalid_response.too_large")
    /// The server points to another address, where it is not followed.
    public static let unexpectedRedirect = Self(rawValue: "invalid_response.redirect")
    /// The redirect is not the answer to this request.
    public static let stateMismatch = Self(rawValue: "invalid_response.state")
    /// The answer names another issuer.
    public static let issuerMismatch = Self(rawValue: "invalid_response.issuer")
    /// The ID token failed validation.
    public static let invalidIDToken = Self(rawValue: "invalid_response.id_token")
    /// The provider answered a refresh with the tokens of another person.
    public static let subjectMismatch = Self(rawValue: "invalid_response.subject")
    /// The authority, or an endpoint it names, is not trusted.
    public static let untrustedAuthority = Self(rawValue: "invalid_response.untrusted_authority")

    // The set-up
    /// The program, its registration or the provider's policy has to be changed.
    public static let configuration = Self(rawValue: "configuration")
    /// A parameter is not acceptable.
    public static let invalidArgument = Self(rawValue: "configuration.invalid_argument")
    /// The redirect address cannot be listened on.
    public static let redirectUnavailable = Self(rawValue: "configuration.redirect_unavailable")
    /// The redirect URI is not registered for this client.
    public static let redirectNotRegistered = Self(rawValue: "configuration.redirect_not_registered")
    /// The provider does not know this client, or not as a public one.
    public static let clientNotRegistered = Self(rawValue: "configuration.client_not_registered")
    /// The provider does not know a scope, or the API that it is of, or does not allow it to this client.
    public static let invalidScope = Self(rawValue: "configuration.invalid_scope")
    /// The organisation's policy blocks this sign-in; asking again will not help.
    public static let blockedByPolicy = Self(rawValue: "configuration.blocked_by_policy")
    /// A file that is to be sent or written cannot be used.
    public static let fileUnavailable = Self(rawValue: "configuration.file_unavailable")
    /// No HTTP transport is available: libcurl (libcurl.so.4) could not be loaded.
    public static let transportUnavailable = Self(rawValue: "configuration.transport_unavailable")
    /// The provider does not offer what is needed.
    public static let unsupported = Self(rawValue: "configuration.unsupported")
}
