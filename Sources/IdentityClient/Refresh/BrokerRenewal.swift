// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Logging
import OAuthWire

/// A new access token from an identity broker, without asking the person.
struct BrokerRenewal: Sendable {
    let environment: FlowEnvironment
    let context: RequestContext

    /// - Parameter before: The account's credentials, if it has any here.
    /// - Throws: The broker's error, or the error of a check; `.accountRemoved` if the account was signed out meanwhile.
    func run(
        _ request: SilentRequest,
        from broker: any TokenBroker,
        for account: Account,
        before: CredentialSnapshot?
    ) async throws -> AcquiredToken {
        try AuthenticationError.checkBrokerKnows(request.need.binding?.scheme, context)
        let metadata = try await environment.resolver.metadata(for: request.authority, context: context)
        let asked = try self.request(request, account, before)
        let tokens = try await AuthenticationError.ofBroker(context) { try await broker.acquireTokenSilently(asked) }
        let binding = request.need.binding
        try tokens.check(binding, context)
        let now = environment.clock.unixSeconds
        let grant = try await GrantValidation(environment: environment, context: context).signInGrant(
            tokens.response(for: account, binding?.scheme ?? .bearer, at: now),
            authority: request.authority,
            metadata: metadata,
            nonce: nil,
            essentialACR: ClaimsParameterText.essentialACR(in: request.claims),
            maxAge: nil,
            subject: before?.credentials.idToken(inRealm: request.need.tenant)?.claims.string("sub"),
            checksTimes: false,  // a broker may keep an access token longer than the ID token that came with it
            binding: binding,
            requestedScopes: asked.scopes
        )
        guard grant.identity.accountID == account.id, let token = grant.accessToken(at: now) else {
            throw context.error(
                .invalidResponse,
                "The identity broker answered with the tokens of another account; nothing was stored."
            )
        }
        let write = write(grant, request, before, at: now)
        let stored = try await environment.store.commit(request.id, write, at: now)
        guard let stored else { throw AuthenticationError.removed(context) }
        return AcquiredToken(snapshot: stored, token: token, source: .broker, correlationID: context.correlationID)
    }

    private func request(
        _ request: SilentRequest,
        _ account: Account,
        _ before: CredentialSnapshot?
    ) throws -> BrokerRequest {
        var asked = BrokerRequest(
            clientID: environment.configuration.clientID,
            authority: request.authority,
            scopes: try request.need.scopes.checkedForBroker(),
            correlationID: context.correlationID
        )
        asked.account = account
        asked.claims = request.claims
        asked.keyID = request.need.binding?.keyID
        asked.refusedToken = request.need.refusedToken
        if request.isForced {
            asked.refusedToken = before?.credentials.accessTokens.first { $0.fits(request.need) }?.secret
        }
        return asked
    }

    /// The write of an account that is here already does not bring it back if it was signed out meanwhile.
    private func write(
        _ grant: TokenGrant,
        _ request: SilentRequest,
        _ before: CredentialSnapshot?,
        at now: Int64
    ) -> AccountWrite {
        if let before {
            let none = CachedRefreshToken(secret: "", modifiedAt: now)  // nothing was redeemed
            return .refresh(before.credentials, sent: none, grant)
        }
        let fresh = AccountCredentials(
            signInID: SecureRandom.token(bytes: 16),
            partition: request.id.partition,
            environment: request.authority.environment,
            clientID: environment.clientID,
            accountID: grant.identity.accountID,
            homeAccountID: grant.identity.homeAccountID
        )
        return .signIn(fresh, grant)
    }
}

extension SilentFlow {
    /// Acquires a token from the broker if there is one, otherwise with the refresh token.
    ///
    /// With ``BrokerUse/whenAvailable(_:)``, a refresh token that is here takes over from a broker that gives no token.
    func renewed(
        _ request: SilentRequest,
        _ token: CachedRefreshToken?,
        for account: Account,
        before: CredentialSnapshot?,
        _ context: RequestContext
    ) async throws -> AcquiredToken {
        let environment = refresher.environment
        let use = environment.configuration.broker
        guard let broker = use.broker else { return try await refresher.refresh(request, context) }
        do {
            let renewal = BrokerRenewal(environment: environment, context: context)
            return try await renewal.run(request, from: broker, for: account, before: before)
        } catch let error as AuthenticationError where !use.isRequired && error.code != .accountRemoved {
            guard let token else { throw error.leavesTheSignInToTheBrowser ? error.asMissingTokens : error }
            context.logger.debug(
                "The identity broker gave no token; the refresh token of this program is used",
                metadata: ["identity.error": "\(error.shortDescription)"]
            )
            try refresher.checkIsNotRefused(token, for: request, context)
            return try await refresher.refresh(request, context)
        }
    }
}

extension AuthenticationError {
    /// The same failure where only the broker has tokens: an interactive acquisition opens the browser without it. A broker
    /// that does not answer may answer later.
    fileprivate var asMissingTokens: AuthenticationError {
        guard code != .serverUnavailable else { return self }
        return AuthenticationError(
            .noTokensFound,
            "Only the identity broker has tokens of this account, and it cannot be used: \(message) Sign in interactively.",
            correlationID: correlationID,
            underlyingError: self,
            timestamp: timestamp
        )
    }
}
