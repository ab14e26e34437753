// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// The meaning of the token endpoint's answer.
enum TokenEndpointAnswer {
    /// The tokens. With a `fault`, only the refresh token is usable.
    case granted(TokenResponse)
    /// The server refused: the same request will not help.
    case refused(AuthenticationError)
    /// It is unknown whether the server acted: the refresh token stays.
    case ambiguous(AuthenticationError)
}

extension TokenEndpointAnswer {
    /// The kind of redeemed credential.
    enum Grant: Sendable { case authorizationCode, refreshToken, deviceCode }

    init(_ answer: EndpointAnswer, grant: Grant, now: Int64, context: RequestContext) {
        switch EndpointVerdict(answer, grant: grant, now: now, context: context) {
        case .refused(let error): self = .refused(error)
        case .ambiguous(let error): self = .ambiguous(error)
        case .accepted(let json):
            let response = TokenResponse(reading: json)
            if let fault = response.fault, response.refreshToken == nil {
                self = .refused(EndpointVerdict.malformed("\(fault)", context))
            } else {
                self = .granted(response)
            }
        }
    }
}
