// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

// The B2C policies other than signing in.
extension ProviderState {
    func userFlow(at address: ProviderAddress) -> TestIdentityProvider.UserFlow {
        address.policy.flatMap { settings.userFlows[$0] } ?? .signIn
    }

    /// Acts on a form of a policy. Returns the next page, or `nil` if the visit goes on.
    mutating func interactUserFlow(
        _ interaction: inout Interaction,
        _ request: ProviderCall
    ) -> AuthorizationStep.Page? {
        let (username, password) = (request["username"] ?? "", request["password"] ?? "")
        switch (request["action"], userFlow(at: interaction.address)) {
        case ("create", .signUpOrSignIn):
            if let problem = signUp(username, password: password, name: request["name"] ?? "") {
                return .signUp(interaction, problem: problem)
            }
            interaction.signedIn = username
        case ("reset", .passwordReset):
            guard let account = account(username), !password.isEmpty else {
                return .resetPassword(interaction, problem: "There is no such account, or the password is empty.")
            }
            updateAccount(account.person.username) { $0.person.password = password }
            interaction.signedIn = account.person.username
        case ("save", .editProfile):
            guard let name = request["name"], !name.isEmpty, let username = interaction.editing else {
                return .editProfile(interaction, name: "", problem: "A name is needed.")
            }
            updateAccount(username) { $0.person.name = name }
            interaction.editing = nil
            interaction.editedProfile = true
        case ("sign-up", .signUpOrSignIn):
            return .signUp(interaction, problem: nil)
        default:
            return .failure("This policy does not do that.")
        }
        return nil
    }

    /// Creates an account. Returns the reason if that fails, otherwise `nil`.
    private mutating func signUp(_ username: String, password: String, name: String) -> String? {
        guard !username.isEmpty, !password.isEmpty, !name.isEmpty else { return "Nothing may be left empty." }
        guard account(username) == nil else { return "There is an account with this username already." }
        let person = Person(
            username: username,
            password: password,
            name: name,
            subject: UUID().uuidString.lowercased(),
            objectID: UUID().uuidString.lowercased()
        )
        accounts.append(ProviderAccount(person: person))
        return nil
    }

    /// Returns the page of the profile-editing policy, for a signed-in person who has not seen it yet.
    mutating func editProfileStep(_ interaction: Interaction, username: String) -> AuthorizationAnswer? {
        guard userFlow(at: interaction.address) == .editProfile, !interaction.editedProfile else { return nil }
        if interaction.prompts.contains("none") {
            return back(interaction, Refusal("interaction_required", "The person must see a page."))
        }
        var interaction = interaction
        interaction.editing = username
        return show(.editProfile(interaction, name: account(username)?.person.name ?? "", problem: nil), interaction)
    }
}
