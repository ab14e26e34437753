// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Logging

extension PublicClientApplication {
    /// Returns the accounts that are signed in here, and those that the broker has besides.
    ///
    /// A broker that cannot be asked has none, unless the program requires it.
    func withAccountsOfBroker(_ stored: [Account]) async throws -> [Account] {
        let (use, clouds) = (configuration.broker, environment.clouds)
        guard let broker = use.broker else { return stored }
        let context = environment.context(nil)
        let found: [Account]
        do {
            found = try await AuthenticationError.ofBroker(context) {
                try await broker.accounts(for: configuration.clientID)
            }
        } catch let error as AuthenticationError where !use.isRequired {
            context.logger.debug(
                "The identity broker's accounts could not be listed",
                metadata: ["identity.error": "\(error.shortDescription)"]
            )
            return stored
        }
        var accounts = stored
        for account in found where clouds.contain(scope: "entra|" + account.key.cloud) {
            let account = account.at(clouds.authority(of: account).environment)
            if !accounts.contains(where: { $0.key == account.key }) { accounts.append(account) }
        }
        return accounts.sorted { ($0.username ?? "", $0.id.rawValue) < ($1.username ?? "", $1.id.rawValue) }
    }
}

extension Account {
    /// The same account under the name of the cloud that the library uses.
    fileprivate func at(_ environment: String) -> Account {
        Account(
            id: id,
            environment: environment,
            username: username,
            homeAccountID: homeAccountID,
            tenantProfiles: tenantProfiles
        )
    }
}
