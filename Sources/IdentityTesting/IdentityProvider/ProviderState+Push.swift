// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import OAuthWire

/// A pushed authorization request that waits for its browser.
struct PushedRequest: Sendable {
    var clientID: String
    var items: [(String, String)]
    var expires: Date
}

/// - SeeAlso: [RFC 9126](https://www.rfc-editor.org/rfc/rfc9126)
extension ProviderState {
    /// Checks a pushed request as if a browser had brought it, and stores it.
    mutating func push(
        _ request: ProviderRequest,
        at address: ProviderAddress,
        now: Date
    ) throws(Refusal) -> ProviderResponse {
        guard settings.pushedAuthorizationRequests != .unavailable else { return ProviderResponse(status: 404) }
        let clientID = try clientID(posting: request)
        do {
            _ = try Interaction(request, at: address, in: self)
        } catch {
            switch error {
            case .page(let text): throw Refusal("invalid_request", text)
            case .redirect(_, let refusal): throw refusal
            }
        }
        let requestURI = "urn:ietf:params:oauth:request_uri:" + SecureRandom.token()
        let lifetime = settings.pushedRequestLifetime
        pushedRequests[requestURI] = PushedRequest(
            clientID: clientID,
            items: request.form,
            expires: now.addingTimeInterval(lifetime.timeInterval)
        )
        let answer = JSONObject([
            ("request_uri", .string(requestURI)), ("expires_in", .integer(lifetime.components.seconds)),
        ])
        return .json(answer, status: 201)
    }

    /// Returns the request in the browser's own parameters, or the pushed request that its reference names, once.
    mutating func meant(
        by request: ProviderRequest,
        at address: ProviderAddress,
        now: Date
    ) throws(AuthorizationFailure) -> ProviderRequest {
        // Not every profile has an endpoint for pushed requests.
        guard address.url(of: .pushedAuthorization) != nil else { return request }
        guard settings.pushedAuthorizationRequests != .unavailable, let requestURI = request["request_uri"] else {
            guard settings.pushedAuthorizationRequests != .required else {
                throw .page("Authorization requests have to be pushed before the browser comes.")
            }
            return request
        }
        guard let pushed = pushedRequests[requestURI], pushed.clientID == request["client_id"], pushed.expires > now
        else {
            throw .page("The request is not known, was used before or has expired. Start again from the program.")
        }
        pushedRequests[requestURI] = nil
        var meant = request
        (meant.method, meant.query, meant.form) = ("GET", pushed.items, [])
        return meant
    }
}
