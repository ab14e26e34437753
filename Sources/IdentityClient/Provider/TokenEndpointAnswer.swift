// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// What an answer of the token endpoint means.
enum TokenEndpointAnswer {
    /// The tokens. With a `fault` in it nothing but the refresh token is of use.
    case granted(TokenResponse)
    /// The server said no: asking again in the same way will not help.
    case refused(AuthenticationError)
    /// Nobody knows whether the server acted: the refresh token stays.
    case ambiguous(AuthenticationError)
}

extension TokenEndpointAnswer {
    /// Which credential was redeemed.
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
