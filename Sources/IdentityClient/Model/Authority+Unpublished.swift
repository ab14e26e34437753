// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

extension Authority {
    /// Facts about an OpenID Connect provider that the program states because the provider publishes them wrongly or
    /// not at all.
    ///
    /// Most authorities have `nil` here. It is a class, because every call copies its authority.
    package final class Unpublished: Hashable, Sendable {
        let deviceAuthorization: String?
        let revocation: String?
        let idTokenAlgorithms: [String]?

        /// - Returns: `nil` if no fact is given.
        /// - Throws: `.invalidArgument` if the list of algorithms is empty or contains an algorithm that the library
        ///   does not verify.
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

    /// The endpoint at which a device asks for a code, as the program states it.
    var deviceAuthorization: String? { unpublished?.deviceAuthorization }

    /// The endpoint at which tokens are revoked, as the program states it.
    var revocation: String? { unpublished?.revocation }

    /// The algorithms that may sign ID tokens, as the program states them.
    var idTokenAlgorithms: [String]? { unpublished?.idTokenAlgorithms }
}
