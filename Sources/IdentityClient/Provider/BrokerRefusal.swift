// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
package import OAuthWire

extension AuthenticationError {
    /// Returns the error for a refusal that a broker passes on from Entra ID.
    ///
    /// - Parameter isSilent: Whether no person was asked.
    package static func refusedThroughBroker(
        _ words: ErrorResponse,
        isSilent: Bool,
        correlationID: UUID
    ) -> AuthenticationError {
        OAuthErrorMapping.error(
            words,
            status: nil,
            grant: isSilent ? .refreshToken : nil,
            isThroughBroker: true,
            context: RequestContext(correlationID: correlationID, logger: nil)
        )
    }
}
