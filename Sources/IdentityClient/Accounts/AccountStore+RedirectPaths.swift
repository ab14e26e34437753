// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Logging
import Synchronization

// The warning about two providers, one of which could have the other's answer accepted as its own.
extension AccountStore {
    /// Logs a warning about each type whose provider does not name itself, and which has the same redirect path as a
    /// type of another provider.
    ///
    /// - SeeAlso: [RFC 9700 §4.4](https://www.rfc-editor.org/rfc/rfc9700#section-4.4)
    func warnOfSharedPaths() {
        for entry in entries where !entry.type.configuration.authority.mayNameItself { warnOfSharedPath(of: entry) }
    }

    /// Does the same once after a sign-in, if the provider's metadata does not announce that it names itself.
    func warnOfSharedPath(afterSignInWith entry: Entry) async {
        let environment = entry.application.environment
        let authority = environment.configuration.authority
        guard authority.mayNameItself, otherType(withPathOf: entry) != nil,
            !warned.withLock({ $0.contains(entry.type.name) }),
            // The sign-in has just read the metadata. Without it, there is nothing to tell.
            let metadata = try? await environment.resolver.metadata(for: authority, context: environment.context(nil)),
            !metadata.namesIssuerInResponse, warned.withLock({ $0.insert(entry.type.name).inserted })
        else { return }
        warnOfSharedPath(of: entry)
    }

    private func warnOfSharedPath(of entry: Entry) {
        guard let other = otherType(withPathOf: entry) else { return }
        (entry.type.configuration.logger ?? Logger.current).warning(
            """
            The provider of the account type '\(entry.type.name)' does not announce that it names itself in its answers, \
            and the type '\(other.name)', of another provider, has the same redirect path. That provider could have \
            this provider's answer accepted as its own. Give each type a path of its own (redirectURI), as far as the \
            registrations allow.
            """
        )
    }

    /// The first type of another provider that has the same redirect path.
    private func otherType(withPathOf entry: Entry) -> AccountType? {
        let configuration = entry.type.configuration
        return entries.map(\.type).first { type in
            type.configuration.redirectURI.path == configuration.redirectURI.path
                && type.configuration.authority.accountScope != configuration.authority.accountScope
        }
    }
}

extension Authority {
    /// Whether answers through the browser may name the provider (RFC 9207). Microsoft's never do; whether others do is
    /// unknown before the first request.
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
