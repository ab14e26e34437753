// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityResources

extension Session {
    /// Notes what an error says of the client that this tool registered.
    func noteClient(after error: any Error) {
        guard let error = error as? AuthenticationError,
            error.isOfForgottenClient || .clientNotRegistered ~= error.code,
            let profile = environment.profile
        else { return }
        try? KnownResources(environment).noteForgotten(profile)  // only 'doctor' misses it
    }

    /// Notes that the client is known, if its server gave the token.
    func noteClient(after result: AuthenticationResult) {
        guard result.source == .identityProvider, let profile = environment.profile else { return }
        try? KnownResources(environment).noteKnown(profile)
    }
}
