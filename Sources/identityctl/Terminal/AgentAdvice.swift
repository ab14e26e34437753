// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

/// The advice that came with an error of the agent.
struct AgentAdvice: Error {
    let text: String

    static func text(of error: any Error) -> String? {
        ((error as? AuthenticationError)?.underlyingError as? AgentAdvice)?.text
    }
}
