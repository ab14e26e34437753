// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import OAuthWire

// The later steps of a visit to the authorization endpoint, and its end.
extension ProviderState {
    static let cookieName = "identity-session"

    func session(_ request: ProviderCall) -> BrowserSession? {
        request.cookie(Self.cookieName).flatMap { sessions[$0] }
    }

    mutating func show(_ page: AuthorizationStep.Page, _ interaction: Interaction) -> AuthorizationAnswer {
        interactions[interaction.id] = interaction
        return AuthorizationAnswer(step: .page(page))
    }

    mutating func back(_ interaction: Interaction, _ refusal: Refusal) -> AuthorizationAnswer {
        interactions[interaction.id] = nil
        var items = [("error", refusal.error), ("error_description", words(of: refusal))]
        if let suberror = refusal.suberror, profile.isEntra { items.append(("error_subcode", suberror)) }
        return AuthorizationAnswer(step: .back(interaction, items + common(interaction)))
    }

    mutating func finish(
        _ interaction: Interaction,
        username: String,
        session: BrowserSession?,
        _ request: ProviderCall
    ) -> AuthorizationAnswer {
        interactions[interaction.id] = nil
        var interaction = interaction
        var cloud: [(String, String)] = []
        if let person = account(username)?.person, let host = person.cloudHost, !interaction.address.isOwn(of: person) {
            guard interaction.isInstanceAware else {
                return back(interaction, Refusal("access_denied", "The account is of another cloud.", number: 50_020))
            }
            cloud = [("cloud_instance_host_name", host)]
            interaction.address = interaction.address.at(host)
        }
        var newSession: String?
        var authenticatedAt = session?.authenticatedAt ?? request.now
        if interaction.signedIn != nil {
            authenticatedAt = request.now
            let id = SecureRandom.token()
            sessions[id] = BrowserSession(username: username, authenticatedAt: request.now)
            newSession = id
            updateAccount(username) { account in
                account.needsSecondFactor = false
                account.passwordIsExpired = false
            }
        }
        let code = "code-" + SecureRandom.token()
        codes[code] = IssuedCode(
            authorization: Authorization(
                clientID: interaction.clientID,
                username: username,
                scopes: interaction.scopes.filter { !settings.declinedScopes.contains($0) },
                nonce: interaction.nonce,
                authenticatedAt: authenticatedAt,
                address: interaction.address,
                family: newFamily(),
                revocations: account(username)?.revocations ?? 0
            ),
            redirectURI: interaction.redirectURI,
            challenge: interaction.challenge,
            boundKey: interaction.boundKey,
            expires: request.now.addingTimeInterval(settings.codeLifetime.timeInterval)
        )
        return AuthorizationAnswer(
            step: .back(interaction, [("code", code)] + cloud + common(interaction)),
            newSession: newSession
        )
    }

    private func common(_ interaction: Interaction) -> [(String, String)] {
        var items: [(String, String)] = []
        if let state = interaction.state { items.append(("state", state)) }
        if settings.namesIssuerInResponse { items.append(("iss", issuer(of: interaction.address))) }
        return items
    }

    /// Returns a refusal's description. Entra's starts with its number.
    func words(of refusal: Refusal) -> String {
        guard profile.isEntra, let number = refusal.number else { return refusal.description }
        return "AADSTS\(number): \(refusal.description)"
    }
}
