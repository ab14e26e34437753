// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient

/// The token that a helper hands out.
struct HelperToken: Sendable {
    let text: String
    let expiresOn: Date

    /// Returns the token that `command` describes: its access token, or its ID token if `wantsIDToken`, from the
    /// cache or renewed. No person is asked.
    ///
    /// - Throws: As `acquireTokenSilently(_:)`, and `UsageError`, also for a token with other characters than a
    ///   header may hold.
    static func acquire(
        _ command: TokenCommand,
        _ environment: Environment,
        in session: Session,
        wantsIDToken: Bool = false,
        forcesRefresh: Bool = false
    ) async throws -> Self {
        let silent = command.silent
        let timeout = try environment.given("timeout", silent.timeout)?.seconds(from: 1) ?? .seconds(30)
        let validity = try environment.given("min-validity", silent.minValidity)?.seconds(from: 0) ?? .seconds(60)
        let wanted = try environment.given("account", command.account.account)
        let application = try session.application(
            try command.provider.configuration(environment, logger: session.logger)
        )
        let parameters = SilentParameters(
            scopes: try command.token.scopes(environment),
            account: try await application.chosenAccount(wanted),
            claims: try command.token.claims(environment),
            forcesRefresh: forcesRefresh,
            minimumValidity: validity
        )
        let (result, idToken) = try await session.bounded(by: timeout) {
            let result = try await application.acquireTokenSilently(parameters)
            guard wantsIDToken else { return (result, IDToken?.none) }
            return try await application.renewingIDToken(of: result, parameters)
        }
        let text = idToken?.text ?? result.accessToken
        guard text.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw UsageError("The provider's token has characters that no program accepts.")
        }
        _ = await session.storageFailure(of: result)
        return HelperToken(text: text, expiresOn: idToken?.expiresOn ?? result.expiresOn)
    }
}
