// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import OAuthWire

/// The next step of the browser.
enum AuthorizationStep: Sendable {
    case page(Page)
    /// Return to the program with these parameters.
    case back(Interaction, [(String, String)])

    enum Page: Sendable {
        case signIn(Interaction, problem: String?)
        case signUp(Interaction, problem: String?)
        case resetPassword(Interaction, problem: String?)
        case editProfile(Interaction, name: String, problem: String?)
        case secondFactor(Interaction, problem: String?)
        case chooseAccount(Interaction, usernames: [String])
        case consent(Interaction, username: String, scopes: [String])
        case administrator(Interaction, scopes: [String])
        case failure(String)
    }
}

/// A step, and the session that the browser remembers from now on.
struct AuthorizationAnswer: Sendable {
    var step: AuthorizationStep
    var newSession: String?
}

extension ProviderState {
    /// Answers a request to the authorization endpoint.
    mutating func authorize(_ request: ProviderCall) -> AuthorizationAnswer {
        do {
            let request = try meant(by: request)
            return advance(try Interaction(request, in: self), request)
        } catch {
            switch error {
            case .page(let text): return AuthorizationAnswer(step: .page(.failure(text)))
            case .redirect(let interaction, let refusal): return back(interaction, refusal)
            }
        }
    }

    /// Answers a form posted by the person.
    mutating func interact(_ request: ProviderCall) -> AuthorizationAnswer {
        guard request.method == "POST", let id = request["interaction"], var interaction = interactions[id] else {
            return AuthorizationAnswer(
                step: .page(.failure("This page is no longer valid. Start again from the program."))
            )
        }
        if settings.offersPeople, let account = request["person"].flatMap(account) {
            interaction.signedIn = account.person.username
            return advance(interaction, request)
        }
        switch request["action"] {
        case "sign-in":
            guard let account = account(request["username"] ?? ""), account.person.password == request["password"]
            else {
                interaction.loginHint = request["username"]
                return AuthorizationAnswer(
                    step: .page(.signIn(interaction, problem: "The username or the password is wrong."))
                )
            }
            guard settings.secondFactorCode == nil else {
                interaction.provedPassword = account.person.username
                return show(.secondFactor(interaction, problem: nil), interaction)
            }
            interaction.signedIn = account.person.username
        case "sign-up", "create", "reset", "save":
            if let page = interactUserFlow(&interaction, request) { return show(page, interaction) }
        case "verify":
            guard let username = interaction.provedPassword, request["second_factor"] == settings.secondFactorCode
            else { return show(.secondFactor(interaction, problem: "The code is wrong."), interaction) }
            interaction.signedIn = username
        case "choose":
            interaction.choseAccount = true
            let chosen = request["account"] ?? ""
            if session(request)?.username != chosen { interaction.prompts.insert("login") }
        case "allow":
            interaction.consented = true
        case "deny":
            return back(interaction, Refusal("access_denied", "The person did not agree.", number: 65_004))
        case "back":
            return back(interaction, Refusal("access_denied", "An administrator must consent.", number: 90_094))
        case "forgot":
            return back(interaction, Refusal("access_denied", "AADB2C90118: The person has forgotten the password."))
        default:
            let words = profile.isB2C ? "AADB2C90091: The person has cancelled." : "The person cancelled."
            return back(interaction, Refusal("access_denied", words, suberror: "cancel"))
        }
        return advance(interaction, request)
    }

    mutating func advance(_ interaction: Interaction, _ request: ProviderCall) -> AuthorizationAnswer {
        var interaction = interaction
        let session = session(request)
        if settings.autoApproves, !interaction.prompts.contains("none") {
            interaction.signedIn =
                interaction.signedIn ?? (interaction.loginHint.flatMap(account) ?? accounts.first)?.person.username
            interaction.consented = true
            interaction.choseAccount = true
            interaction.editedProfile = true
        }
        guard let username = interaction.signedIn ?? settledUsername(session, interaction, now: request.now) else {
            if interaction.prompts.contains("none") {
                let hasSession = session.flatMap { account($0.username) }?.needsSecondFactor == true
                return back(
                    interaction,
                    Refusal(hasSession ? "interaction_required" : "login_required", "The person must sign in.")
                )
            }
            let isReset = userFlow(at: interaction.address) == .passwordReset
            let page =
                isReset
                ? AuthorizationStep.Page.resetPassword(interaction, problem: nil) : .signIn(interaction, problem: nil)
            return show(page, interaction)
        }
        if interaction.prompts.contains("select_account"), !interaction.choseAccount, interaction.signedIn == nil {
            return show(.chooseAccount(interaction, usernames: [username]), interaction)
        }
        if let step = editProfileStep(interaction, username: username) { return step }
        if let step = consentStep(&interaction, username: username) { return step }
        return finish(interaction, username: username, session: session, request)
    }

    /// Returns the username of the browser's session if the session is enough for this request.
    private func settledUsername(_ session: BrowserSession?, _ interaction: Interaction, now: Date) -> String? {
        guard let session, let account = account(session.username), !interaction.prompts.contains("login"),
            userFlow(at: interaction.address) != .passwordReset,
            !account.needsSecondFactor, !account.passwordIsExpired
        else { return nil }
        if let maxAge = interaction.maxAge, now.timeIntervalSince(session.authenticatedAt) > Double(maxAge) {
            return nil
        }
        if let hint = interaction.loginHint, self.account(hint) != nil,
            hint.lowercased() != session.username.lowercased()
        {
            return nil
        }
        return session.username
    }

    private mutating func consentStep(_ interaction: inout Interaction, username: String) -> AuthorizationAnswer? {
        let clientID = interaction.clientID
        let forAdministrators = interaction.scopes.filter(settings.adminConsentScopes.contains)
        guard forAdministrators.isEmpty else {
            if interaction.prompts.contains("none") || settings.autoApproves {
                return back(interaction, Refusal("access_denied", "An administrator must consent.", number: 90_094))
            }
            return show(.administrator(interaction, scopes: forAdministrators), interaction)
        }
        let missing = interaction.scopes.filter { scope in
            settings.consentScopes.contains(scope)
                && !consents.contains(Consent(clientID: clientID, username: username, scope: scope))
        }
        let asks = !missing.isEmpty || interaction.prompts.contains("consent")
        if asks, !interaction.consented {
            if interaction.prompts.contains("none") {
                return back(interaction, Refusal("consent_required", "The person must consent.", number: 65_001))
            }
            let scopes = missing.isEmpty ? interaction.scopes : missing
            return show(.consent(interaction, username: username, scopes: scopes), interaction)
        }
        for scope in missing { consents.insert(Consent(clientID: clientID, username: username, scope: scope)) }
        return nil
    }
}
