// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Logging

// Where the answer of one provider could pass for another's.
extension AccountStore {
    /// Tells the log of each type whose provider does not name itself, and which shares its redirect path with a type of
    /// another provider.
    ///
    /// - SeeAlso: [RFC 9700 §4.4](https://www.rfc-editor.org/rfc/rfc9700#section-4.4)
    func warnOfSharedPaths() {
        for entry in entries where !entry.type.configuration.authority.mayNameItself {
            let configuration = entry.type.configuration
            let others = entries.filter {
                $0.type.configuration.redirectURI.path == configuration.redirectURI.path
                    && $0.type.configuration.authority.accountScope != configuration.authority.accountScope
            }
            guard let other = others.first else { continue }
            (configuration.logger ?? Logger.current).warning(
                """
                The provider of the account type '\(entry.type.name)' does not name itself in its answers, and the type \
                '\(other.type.name)', of another provider, has the same redirect path: that provider could pass this one's \
                answer for its own. Give each type a path of its own (redirectURI) as far as the registrations allow.
                """
            )
        }
    }
}

extension Authority {
    /// Whether answers through the browser may name the provider (RFC 9207). Microsoft's never do; what another publishes of
    /// it is not known before the first request.
    fileprivate var mayNameItself: Bool {
        switch kind {
        case .entra, .b2c, .externalID, .adfs: false
        case .openIDConnect: true
        case .oauth2(let endpoints): endpoints.issuer != nil
        }
    }
}

extension RedirectURI {
    /// The part of a redirect address that providers compare. Few compare the port of a loopback address.
    fileprivate var path: String {
        switch kind {
        case .loopback(_, _, let path): path.isEmpty ? "/" : path
        case .custom(let url): url.absoluteString
        }
    }
}
