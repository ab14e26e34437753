// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

// Every code once more on the error itself, so that `catch AuthenticationError.interactionRequired` reads as it should.
extension AuthenticationError {
    // A person is needed
    /// A person is needed: call `acquireTokenInteractively` with the same scopes.
    public static var interactionRequired: Code { .interactionRequired }
    /// Nobody is signed in with this account here, or there is neither a token that will do nor a refresh token.
    public static var noTokensFound: Code { .noTokensFound }
    /// The provider wants the person to sign in again.
    public static var loginRequired: Code { .loginRequired }
    /// The person has not yet agreed to these scopes.
    public static var consentRequired: Code { .consentRequired }
    /// Only an administrator can agree to these scopes.
    public static var adminConsentRequired: Code { .adminConsentRequired }
    /// The refresh token expired, was revoked or was used elsewhere.
    public static var signInExpired: Code { .signInExpired }
    /// The person can settle it while signing in, for example with a second factor.
    public static var basicAction: Code { .basicAction }
    /// The person has to act outside the sign-in, for example enrol the device.
    public static var additionalAction: Code { .additionalAction }
    /// The sign-in page will only explain why it is refused.
    public static var messageOnly: Code { .messageOnly }
    /// The password expired and is to be changed while signing in.
    public static var passwordExpired: Code { .passwordExpired }
    /// The person chose "forgot password" (B2C): start the password-reset policy.
    public static var passwordResetRequired: Code { .passwordResetRequired }
    /// The person has to choose an account.
    public static var accountSelectionRequired: Code { .accountSelectionRequired }
    /// The account was signed out while its token was refreshed.
    public static var accountRemoved: Code { .accountRemoved }
    /// The API demands more of the sign-in: pass the error's `claims` on.
    public static var claimsChallenge: Code { .claimsChallenge }
    /// The person signed in with another account than the one that was asked for: sign in again with the right one.
    public static var accountMismatch: Code { .accountMismatch }

    // The sign-in was ended
    /// The sign-in was ended before it was finished.
    public static var userCancelled: Code { .userCancelled }
    /// The person, or the provider on their behalf, said no.
    public static var accessDenied: Code { .accessDenied }
    /// The person did not finish in time.
    public static var interactionTimedOut: Code { .interactionTimedOut }
    /// A newer sign-in took this one's place.
    public static var interactionSuperseded: Code { .interactionSuperseded }

    // The sign-in could not begin
    /// The sign-in could not be shown to the person. The person did not end it: say why, and offer another way.
    public static var interactionUnavailable: Code { .interactionUnavailable }
    /// No browser could be opened here: show the address instead.
    public static var browserUnavailable: Code { .browserUnavailable }
    /// Another sign-in of this application object is under way.
    public static var interactionInProgress: Code { .interactionInProgress }

    // Fewer scopes
    /// None of the scopes that were asked for was granted; the person is signed in all the same.
    public static var scopesDeclined: Code { .scopesDeclined }

    // The server
    /// The server cannot answer now: try again later.
    public static var serverUnavailable: Code { .serverUnavailable }
    /// The server asked to wait: try again after `retryAfter`.
    public static var throttled: Code { .throttled }
    /// A loop of identical requests was stopped, by the provider or on this side: wait for `retryAfter`, or some minutes.
    public static var requestLoop: Code { .requestLoop }

    // The network
    /// The server could not be reached. Nobody has to sign in again for this.
    public static var network: Code { .network }
    /// The server did not answer in time.
    public static var networkTimedOut: Code { .networkTimedOut }
    /// The server's name could not be resolved.
    public static var nameNotResolved: Code { .nameNotResolved }
    /// No connection to the server, or it broke.
    public static var connectionFailed: Code { .connectionFailed }
    /// The server's certificate is not trusted, or TLS failed.
    public static var tlsFailed: Code { .tlsFailed }
    /// The proxy refused or could not be reached.
    public static var proxyFailed: Code { .proxyFailed }
    /// No HTTP transport is available: libcurl (libcurl.so.4) could not be loaded.
    public static var transportUnavailable: Code { .transportUnavailable }

    // The cache
    /// The place where tokens rest cannot be used now. Nobody has to sign in again for this.
    public static var cache: Code { .cache }
    /// A record could not be read; it was set aside and reported.
    public static var cacheCorrupt: Code { .cacheCorrupt }
    /// Owner, mode or kind of the cache's files are not as they must be.
    public static var cachePermissions: Code { .cachePermissions }
    /// Another process holds the cache, or a refresh, for too long; it may be unable to store the answer.
    public static var cacheBusy: Code { .cacheBusy }
    /// There is no room to write.
    public static var cacheFull: Code { .cacheFull }
    /// The record was written by a newer version of the library.
    public static var cacheNewerVersion: Code { .cacheNewerVersion }
    /// The key that the cache is encrypted with cannot be had now.
    public static var cacheKeyUnavailable: Code { .cacheKeyUnavailable }
    /// A record was encrypted with another key, changed by someone, or never encrypted; it was left as it is.
    public static var cacheUndecryptable: Code { .cacheUndecryptable }
    /// libsecret (libsecret-1.so.0) or GLib could not be loaded, without which the keyring cannot be used.
    public static var keyringLibraryMissing: Code { .keyringLibraryMissing }
    /// There is no session bus, over which the keyring is reached.
    public static var keyringNoSessionBus: Code { .keyringNoSessionBus }
    /// No keyring runs in this session: nobody provides a Secret Service.
    public static var keyringNoService: Code { .keyringNoService }
    /// The keyring has no default collection to keep tokens in.
    public static var keyringNoDefaultCollection: Code { .keyringNoDefaultCollection }
    /// The keyring is locked.
    public static var keyringLocked: Code { .keyringLocked }
    /// The system does not let this program use the keyring.
    public static var keyringAccessDenied: Code { .keyringAccessDenied }
    /// The person closed the dialog that would have unlocked the keyring.
    public static var keyringPromptDismissed: Code { .keyringPromptDismissed }
    /// The keyring, or the person in front of its dialog, did not answer in time.
    public static var keyringTimedOut: Code { .keyringTimedOut }

    // Not believed
    /// The server's answer was not believed.
    public static var invalidResponse: Code { .invalidResponse }
    /// The answer could not be read.
    public static var malformedResponse: Code { .malformedResponse }
    /// The answer was larger than its reader allows: 1 MiB from a provider.
    public static var responseTooLarge: Code { .responseTooLarge }
    /// The server points to another address, where it is not followed.
    public static var unexpectedRedirect: Code { .unexpectedRedirect }
    /// The redirect is not the answer to this request.
    public static var stateMismatch: Code { .stateMismatch }
    /// The answer names another issuer.
    public static var issuerMismatch: Code { .issuerMismatch }
    /// The ID token failed validation.
    public static var invalidIDToken: Code { .invalidIDToken }
    /// The provider answered a refresh with the tokens of another person.
    public static var subjectMismatch: Code { .subjectMismatch }
    /// The authority, or an endpoint it names, is not trusted.
    public static var untrustedAuthority: Code { .untrustedAuthority }

    // The set-up
    /// The program, its registration or the provider's policy has to be changed.
    public static var configuration: Code { .configuration }
    /// A parameter is not acceptable.
    public static var invalidArgument: Code { .invalidArgument }
    /// The redirect address cannot be listened on.
    public static var redirectUnavailable: Code { .redirectUnavailable }
    /// The redirect URI is not registered for this client.
    public static var redirectNotRegistered: Code { .redirectNotRegistered }
    /// The provider does not know this client, or not as a public one.
    public static var clientNotRegistered: Code { .clientNotRegistered }
    /// The provider does not know a scope, or the API that it is of, or does not allow it to this client.
    public static var invalidScope: Code { .invalidScope }
    /// The organisation's policy blocks this sign-in; asking again will not help.
    public static var blockedByPolicy: Code { .blockedByPolicy }
    /// A file that is to be sent or written cannot be used.
    public static var fileUnavailable: Code { .fileUnavailable }
    /// The provider does not offer what is needed.
    public static var unsupported: Code { .unsupported }
}
