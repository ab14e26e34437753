// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityKeyring
import IdentityResources

// A sign-in at a terminal that goes on without a browser and without a keyring, where it would end with an error elsewhere.
extension LoginCommand {
    /// The reason why the person pastes the address at which a browser elsewhere ended; `nil` if a browser opens here, if no person
    /// types here, or if the command line says where the browser comes back.
    func reasonForPasting(_ command: [String]?) -> String? {
        guard Questions.arePossible, browser.browser == nil, !privateWindow, signIn.redirectURI == nil,
            signIn.redirectPorts == nil
        else { return nil }
        return InteractionEnvironment.current(browserCommand: command).browserProblem
    }

    /// Returns the command with the store that the person chooses, where there is no keyring and no store was chosen yet.
    ///
    /// - Throws: `UsageError`, the errors of `Questions`, and of a key that cannot be made.
    func choosingStore(_ session: Session) async throws -> LoginCommand {
        let environment = session.environment
        guard !session.isJSON, !start, !finish, Questions.arePossible,
            try provider.cacheChoice(environment) == .auto, try await TokenPlace.lacksKeyring()
        else { return self }
        // A resource's client is registered before it is known, and kept in this group.
        let group = try provider.group(environment) ?? ClientSoftware.identityctl.group
        guard let policy = CacheChoice.auto.policy,
            try await CacheChoice.desktop(policy, logger: session.logger).rememberedStore(of: group) == nil
        else { return self }
        var command = self
        command.provider.cache = try await TokenPlace.chosen(Questions(session.console), environment["HOME"])
        return command
    }
}
