// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import OAuthWire

/// The answer to *from where*: a source of tokens, which asks no person.
///
/// There are three: ``ApplicationSource``, the cache and the provider, ``AgentSource``, and ``GNOMEAccounts``. Others wrap one: ``IDTokens``,
/// ``ProfileBinding``, ``RegisteredClient``, ``RenewedElsewhere`` and ``ShortLifeWarning``. `Session.source` is the one place where a route
/// becomes a source; most of them stand beside it.
protocol TokenSource: Sendable {
    /// Returns the wanted token.
    ///
    /// - Throws: `AuthenticationError`: `.interactionRequired` if only a sign-in could give the token; `NoTokenOfPerson`;
    ///   `AccountNotChosen`; `UsageError`; `CancellationError`.
    func token(_ wanted: WantedToken) async throws -> HandedToken
}

extension TokenSource {
    /// Returns the token of the cache; `nil` if none is good, or if it is the refused one.
    ///
    /// - Throws: As ``token(_:)``.
    func kept(_ wanted: WantedToken) async throws -> HandedToken? {
        var kept = wanted
        (kept.usesCacheOnly, kept.refusedToken) = (true, nil)
        do {
            let found = try await token(kept)
            return found.result.accessToken == wanted.refusedToken ? nil : found
        } catch AuthenticationError.Code.networkNotAllowed {
            return nil
        }
    }
}

/// A token of a source: the ID token if that was wanted, otherwise the access token.
struct HandedToken: Sendable {
    let result: AuthenticationResult
    var idToken: IDToken?
    /// The result in JSON, as an agent reports it; `nil` without one.
    var report: JSONObject?
    /// The username in a line of the agent's profile.
    var username: String?

    var text: String { idToken?.text ?? result.accessToken }
    var expiresOn: Date { idToken?.expiresOn ?? result.expiresOn }

    /// The account's id; `nil` if an agent does not name it.
    var account: String? {
        report.map { $0.object("account")?.string("id") } ?? result.account.id.rawValue
    }

    /// The rest of the token's life.
    func left(at now: Date) -> Duration { .seconds(expiresOn.timeIntervalSince(now)) }

    /// Returns the token, if a header, a variable and a file may hold it.
    ///
    /// - Throws: `UsageError` for a token with other characters, and for a username with control characters.
    func checked() throws -> HandedToken {
        guard !text.isEmpty, text.utf8.areVisible else {
            throw UsageError("The provider's token has characters that no program accepts.")
        }
        guard username?.utf8.hasControls != true else {
            throw UsageError("The username in the agent's answer has control characters.")
        }
        return self
    }
}

/// No token goes out under the name of a person: only other accounts are signed in.
struct NoTokenOfPerson: Error {
    let person: String
}
