// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import SystemSupport

/// The tokens of the cache and the provider.
struct ApplicationSource: TokenSource {
    let application: PublicClientApplication
    /// Shows that long work is under way; `nil` for none, and for no limit but that of the caller.
    var console: Console?

    func token(_ wanted: WantedToken) async throws -> HandedToken {
        var wanted = wanted
        if let person = wanted.person { try await choose(person, in: &wanted) }
        if let result = try await stored(wanted) { return HandedToken(result: result) }
        let account =
            if let known = wanted.signedIn { known } else { try await application.chosenAccount(wanted.account) }
        let (parameters, provesKey) = (wanted.parameters(for: account), wanted.provesKey)
        let work = { @Sendable () async throws -> HandedToken in
            let result = try await application.acquireTokenSilently(parameters)
            guard result.scheme != .dpop || provesKey else { throw Self.isBound }
            return HandedToken(result: result)
        }
        guard let console, let timeout = wanted.timeout else { return try await work() }
        // The call itself ends in time, with a token of the cache if there is one to take.
        return try await console.bounded(by: timeout + .seconds(1), work)
    }

    /// Returns the token if it stands in a file of this computer and is good for long enough: without a deadline and another
    /// thread, for which the callers of a helper would wait at each start. Otherwise returns `nil`.
    func stored(_ wanted: WantedToken) async throws -> AuthenticationResult? {
        guard let cache = application.configuration.cache as? FileTokenCache, wanted.scheme == .bearer,
            wanted.claims == nil, wanted.refusedToken == nil, !wanted.forcesRefresh, !wanted.isIDToken,
            !wanted.provesKey
        else { return nil }
        return try await cache.readingInPlace {
            let account = try await application.chosenAccount(wanted.account)
            return try await application.cachedToken(
                scopes: wanted.scopes,
                account: account,
                minimumValidity: wanted.minimumValidity
            )
        }
    }

    /// Chooses the account with the name that is in an address.
    private func choose(_ person: String, in wanted: inout WantedToken) async throws {
        guard try await !application.allAccounts().isEmpty else { return }
        // The account of the profile's first sign-in is the usual one; a name in the address chooses another one.
        if wanted.account?.account?.isSignedOut == false { wanted.account = nil }
        guard try await application.has(person, among: wanted.account) else { throw NoTokenOfPerson(person: person) }
        wanted.account = wanted.account ?? Given(text: person, origin: "username")
    }

    private static var isBound: AuthenticationError {
        AuthenticationError(
            .unsupported,
            "The token is bound to a key (DPoP), and is of no use without a proof for each request. 'identityctl call' makes them, "
                + "and 'identityctl token --request' prints one."
        )
    }
}

extension PublicClientApplication {
    /// Whether an account with this id or username is signed in, and is the one that `chosen` names, if it names one.
    fileprivate func has(_ name: String, among chosen: Given?) async throws -> Bool {
        let byID = try await account(withID: Account.ID(rawValue: name))
        let named = try await [byID].compactMap(\.self) + accounts(withUsername: name)
        guard let chosen else { return !named.isEmpty }
        let id = try await chosenAccount(chosen).id
        return named.contains { $0.id == id }
    }
}

extension Console {
    /// Runs `work`, which calls the provider, for at most `limit`. On a terminal, reports that long work is under way.
    ///
    /// - Throws: The errors of `work`; `.networkTimedOut`. A request that is still under way then becomes pending work.
    func bounded<Value: Sendable>(
        by limit: Duration,
        _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        do {
            return try await showingProgress(after: .seconds(2)) { elapsed in
                "Asking the provider… \(elapsed.wholeSeconds) s. Ctrl-C gives up."
            } while: {
                try await withDeadline(limit, work)
            }
        } catch is DeadlineExceeded {
            throw AuthenticationError(
                .networkTimedOut,
                "The provider did not answer within \(limit.wholeSeconds) s. Try again; no new sign-in is needed."
            )
        }
    }
}

/// ID tokens of a source, if they are wanted: one may have expired while the access token has not, and is renewed once.
struct IDTokens: TokenSource {
    let base: ApplicationSource

    /// - Throws: `.unsupported` at a plain OAuth 2.0 server, `.loginRequired` where the provider renews none, and as the source.
    func token(_ wanted: WantedToken) async throws -> HandedToken {
        guard wanted.isIDToken else { return try await base.token(wanted) }
        var wanted = wanted
        wanted.provesKey = true  // the key is the access token's
        let end = wanted.timeout.map { ContinuousClock.now + $0 }
        var found = try await base.token(wanted)
        guard base.application.configuration.authority.issuesIDTokens else {
            throw AuthenticationError(
                .unsupported,
                "A plain OAuth 2.0 server issues no ID tokens: it does not say who signed in."
            )
        }
        let token = IDToken(of: found.result)
        let alive = token.flatMap { $0.isAlive(at: .now) ? $0 : nil }
        let expired = wanted.allowsExpiredToken ? token : nil
        if let token, token.isGood(for: wanted.minimumValidity, at: .now) {
            found.idToken = token
            return found
        }
        if wanted.usesCacheOnly {
            guard let token = alive ?? expired else {
                throw AuthenticationError(
                    .networkNotAllowed,
                    "The cache has no ID token that is still good, and this call may not ask the provider."
                )
            }
            found.idToken = token
            return found
        }
        // A result that has just come cannot be newer.
        if found.result.source == .cache {
            wanted.forcesRefresh = true
            wanted.timeout = end.map { max(.seconds(1), $0 - .now) }
            do {
                var renewed = try await base.token(wanted)
                if let token = IDToken(of: renewed.result), token.isAlive(at: .now) {
                    renewed.idToken = token
                    return renewed
                }
            } catch let error as AuthenticationError {
                if let expired, [.network, .serverUnavailable].contains(error.family) {
                    found.idToken = expired
                    return found
                }
                if alive == nil { throw error }
            }
        }
        guard let alive else {
            throw AuthenticationError(
                .loginRequired,
                "There is no ID token that is still good, and the provider renews none without a sign-in."
            )
        }
        found.idToken = alive
        return found
    }
}
