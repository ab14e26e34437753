// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

extension Authority {
    /// What a program knows of an OpenID Connect provider that the provider does not publish, or publishes wrongly.
    ///
    /// It is one reference, and `nil` for most: every call copies its authority.
    package final class Unpublished: Hashable, Sendable {
        let deviceAuthorization: String?
        let revocation: String?
        let idTokenAlgorithms: [String]?

        /// - Returns: `nil` where nothing is given.
        /// - Throws: `.invalidArgument` when the algorithms are none, or one of them is none that is verified.
        init?(deviceAuthorization: String?, revocation: String?, idTokenAlgorithms: [String]?) throws {
            if let idTokenAlgorithms {
                let isVerified = idTokenAlgorithms.allSatisfy { SignatureAlgorithm(name: $0) != nil }
                guard isVerified, !idTokenAlgorithms.isEmpty else {
                    throw AuthenticationError(
                        .invalidArgument,
                        """
                        The algorithms for ID tokens are one or more of \
                        \(SignatureAlgorithm.allCases.map(\.rawValue).joined(separator: ", ")).
                        """
                    )
                }
            } else if deviceAuthorization == nil, revocation == nil {
                return nil
            }
            self.deviceAuthorization = deviceAuthorization
            self.revocation = revocation
            self.idTokenAlgorithms = idTokenAlgorithms
        }

        package static func == (first: Unpublished, second: Unpublished) -> Bool {
            first === second
                || first.deviceAuthorization == second.deviceAuthorization && first.revocation == second.revocation
                    && first.idTokenAlgorithms == second.idTokenAlgorithms
        }

        package func hash(into hasher: inout Hasher) {
            hasher.combine(deviceAuthorization)
            hasher.combine(revocation)
            hasher.combine(idTokenAlgorithms)
        }
    }

    private var unpublished: Unpublished? {
        if case .openIDConnect(_, _, let unpublished) = kind { unpublished } else { nil }
    }

    /// Where a device asks for a code, by the program.
    var deviceAuthorization: String? { unpublished?.deviceAuthorization }

    /// Where tokens are revoked, by the program.
    var revocation: String? { unpublished?.revocation }

    /// What ID tokens may be signed with, by the program.
    var idTokenAlgorithms: [String]? { unpublished?.idTokenAlgorithms }
}
