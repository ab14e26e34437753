// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import OAuthWire

/// The scopes and audiences for which the agent may hand out tokens of a profile, and whether it asks the person.
struct AgentPolicy: Hashable, Sendable {
    /// The scopes that are used if a request names none.
    let defaultScopes: Set<Scope>
    /// The scopes that requests may name; `nil` for all.
    let allowedScopes: Set<Scope>?
    /// Whether `agent-scope` says so. Then a token with more scopes is not handed out either.
    let isStrict: Bool
    let audiences: Set<String>
    let confirmation: AgentConfirmation

    /// Scopes about the sign-in, which give access to no API.
    private static let harmless: Set<Scope> = ["openid", "profile", "email", "offline_access"]

    init(_ profile: AgentProfile) throws {
        let environment = profile.environment
        defaultScopes = Set(try environment.words("scope", profile.scopes).map(Scope.init(rawValue:)))
        let named = Set(try environment.words("agent-scope", []).map(Scope.init(rawValue:)))
        let allows = named.contains("*")
        isStrict = !named.isEmpty && !allows
        allowedScopes = allows ? nil : named.isEmpty ? defaultScopes : named
        audiences = Set(try environment.words("agent-audience", []))
        confirmation = try AgentConfirmation(environment.given("agent-confirm", nil))
    }

    /// Returns the scopes to ask for.
    func scopes(for request: AgentRequest.Token, profile: String) throws -> Set<Scope> {
        let wanted = request.scopes.isEmpty ? defaultScopes : request.scopes
        guard let allowedScopes else { return wanted }
        let refused = wanted.subtracting(allowedScopes).subtracting(isStrict ? [] : Self.harmless)
        guard refused.isEmpty else {
            throw Self.refusal(
                "The agent's profile '\(profile)' does not allow \(Self.list(refused)). To allow it, add a line: agent-scope"
            )
        }
        return wanted
    }

    /// Checks the audience that a request names.
    func check(audience: String?, profile: String) throws {
        guard let audience, !audiences.contains(audience) else { return }
        throw Self.refusal(
            "The agent's profile '\(profile)' does not name the audience '\(audience.printable)'. To allow it, add a line: agent-audience"
        )
    }

    /// Checks that tokens of the profile work without a key, which stays in the agent.
    func check(scheme: AuthenticationScheme, profile: String) throws {
        guard scheme == .bearer else {
            throw Self.refusal(
                "The agent's profile '\(profile)' binds its tokens to a key, and an agent signs no requests. Use a profile without the line: scheme"
            )
        }
    }

    /// Returns the asked scopes and those that a token has beyond them.
    func handedOut(_ scopes: Set<Scope>, _ result: AuthenticationResult) -> Set<Scope> {
        scopes.union(result.scopes.subtracting(Self.harmless))
    }

    /// Checks a token before it leaves the agent.
    func check(_ result: AuthenticationResult, audience: String?, profile: String) throws {
        if isStrict, let allowedScopes {
            let more = result.scopes.subtracting(allowedScopes).subtracting(Self.harmless)
            guard more.isEmpty else {
                throw Self.refusal(
                    "The token has more scopes than the agent's profile '\(profile)' allows: \(Self.list(more))."
                )
            }
        }
        // An opaque token does not say for whom it is: then the profile's word counts.
        guard let audience, let claims = try? JSONWebToken(compact: result.accessToken).claims,
            let named = claims.string("aud").map({ [$0] }) ?? claims.strings("aud")
        else { return }
        guard named.contains(audience) else {
            throw Self.refusal("The token of the agent's profile '\(profile)' is not for '\(audience.printable)'.")
        }
    }

    static func refusal(_ message: String) -> AuthenticationError {
        AuthenticationError(.blockedByPolicy, message)
    }

    private static func list(_ scopes: Set<Scope>) -> String {
        scopes.map { "'\($0.rawValue.printable)'" }.sorted().prefix(10).joined(separator: ", ")
    }
}
