// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

package import OAuthWire

extension TokenAudience {
    /// - Throws: `.invalidTarget` for a token that is for other addresses.
    package static func check(_ accessToken: String, for resource: String) throws {
        guard let others = others(in: accessToken, than: resource) else { return }
        let listing = others.prefix(3).map { WireText.quoted($0) }.joined(separator: ", ")
        throw AuthenticationError(
            .invalidTarget,
            """
            The server issued a token for \(listing) and not for \(resource), so it is not sent there. If you know the server and \
            the resource, name both together, as issuer and resource, and sign in again.
            """
        )
    }
}
