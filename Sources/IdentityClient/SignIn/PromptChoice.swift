// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Logging

/// The choice of a prompt after a sign-out, if the program names none.
struct PromptChoice: Sendable {
    let environment: FlowEnvironment
    let context: RequestContext

    func prompt(_ parameters: InteractiveParameters, _ authority: Authority) async throws -> Prompt {
        guard parameters.prompt == .providerDefault else { return parameters.prompt }
        let username = parameters.loginHint ?? parameters.account?.username
        let wanted = parameters.account.map { ($0.id as Account.ID?, username) } ?? username.map { (nil, $0) }
        do {
            let inUse = try await environment.accountsInUse.value()
            guard inUse.mustAsk(for: wanted, isSignedIn: try await isSignedIn(inUse.current)) else {
                return .providerDefault
            }
            return wanted == nil && authority.offersAccountSelection ? .selectAccount : .login
        } catch let error as AuthenticationError {
            // A cache that cannot be read does not prevent a sign-in.
            context.logger.debug(
                "Whether the sign-in is to ask could not be read",
                metadata: ["identity.error": "\(error.shortDescription)"]
            )
            return .providerDefault
        }
    }

    private func isSignedIn(_ account: AccountsInUse.Entry?) async throws -> Bool {
        guard let account else { return false }
        let accounts = try await environment.store.allSnapshots().snapshots.values
        return accounts.contains { $0.account.id == account.id }
    }
}
