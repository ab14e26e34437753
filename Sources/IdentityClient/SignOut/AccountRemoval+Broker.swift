// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Logging

extension AccountRemoval {
    /// Asks the broker to remove the account for this program. Not every broker can: the account is signed out here all
    /// the same.
    func removeFromBroker(_ account: Account) async throws {
        guard let broker = environment.configuration.broker.broker else { return }
        do {
            try await AuthenticationError.ofBroker(context) {
                try await broker.remove(account, for: environment.configuration.clientID)
            }
        } catch let error as AuthenticationError {
            context.logger.notice(
                "The account is signed out here; the identity broker still has it",
                metadata: ["identity.error": "\(error.shortDescription)"]
            )
        }
    }
}
