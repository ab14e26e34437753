// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// The way in which the person must have authenticated, as a program requires it of a sign-in.
struct RequiredAuthentication: Sendable {
    /// The values of which `acr` must be one; `nil` if any is accepted.
    var acrValues: [String]?
    /// The methods that `amr` must all name.
    var amr: Set<String> = []

    var isAny: Bool { acrValues == nil && amr.isEmpty }

    func isMet(by claims: IDTokenClaims?) -> Bool {
        guard let claims else { return isAny }
        if let acrValues, !claims.hasACR(in: acrValues) { return false }
        return amr.isSubset(of: claims.raw.strings("amr") ?? [])
    }
}
