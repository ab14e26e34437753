// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

extension SilentParameters {
    /// Returns the claims that an API demands of the next token when it refuses a token, for ``claims``; `nil` if it
    /// demands no claims that can be passed on.
    ///
    /// For answers of 401 that the program reads itself; `AuthenticatedClient` of `IdentityResources` heeds challenges without being asked. Of
    /// several challenges the first Bearer one with the error `insufficient_claims` counts, whether its claims are in base64,
    /// in base64url or plain. They are the API's words: a JSON object of at most 16 KiB, not checked further.
    /// - Parameter fieldValues: The values of all `WWW-Authenticate` fields of the answer.
    /// - SeeAlso: [RFC 9110 §11.6.1](https://www.rfc-editor.org/rfc/rfc9110#section-11.6.1),
    ///   [Claims challenges](https://learn.microsoft.com/entra/identity-platform/claims-challenge)
    public static func claims(inChallenges fieldValues: [String]) -> String? {
        AuthenticationChallenge.parse(fieldValues).lazy.compactMap(\.claims).first
    }
}
