// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import OAuthWire

/// - SeeAlso: [RFC 8628](https://www.rfc-editor.org/rfc/rfc8628)
extension ProviderState {
    mutating func startDevice(_ request: ProviderCall) throws(Refusal) -> (deviceCode: String, device: DeviceRequest) {
        guard request.method == "POST" else {
            throw Refusal("invalid_request", "The request must be a posted form.", number: 900_144)
        }
        let clientID = try clientID(of: request)
        let scopes = (request["scope"] ?? "").split(separator: " ").map(String.init)
        try checkKnown(scopes)
        let challenge = request["code_challenge"]
        try checkChallenge(challenge, request)
        let device = DeviceRequest(
            clientID: clientID,
            userCode: Self.newUserCode(),
            scopes: scopes,
            challenge: challenge,
            address: request.address,
            expires: request.now.addingTimeInterval(settings.deviceCodeLifetime.timeInterval),
            interval: settings.deviceInterval
        )
        let code = "dc-" + SecureRandom.token()
        devices[code] = device
        return (code, device)
    }

    /// Returns eight consonants, as RFC 8628 §6.1 advises: easy to type, and no words.
    private static func newUserCode() -> String {
        let letters = Array("BCDFGHJKLMNPQRSTVWXZ")
        let text = SecureRandom.bytes(8).map { letters[Int($0) % letters.count] }
        return String(text[..<4]) + "-" + String(text[4...])
    }

    mutating func redeemDeviceCode(_ request: ProviderCall, clientID: String) throws(Refusal) -> TokenIssue {
        guard let code = request["device_code"], var device = devices[code], device.clientID == clientID else {
            throw Refusal("invalid_grant", "The device code is not valid.", number: 70_000)
        }
        guard device.expires > request.now else {
            throw Refusal("expired_token", "The device code has expired.", number: 70_020)
        }
        try checkProof(device.challenge, verifier: request["code_verifier"])
        let isTooSoon =
            device.lastAsked.map { request.now.timeIntervalSince($0) < device.interval.timeInterval } ?? false
        device.lastAsked = request.now
        if isTooSoon { device.interval += .seconds(5) }
        devices[code] = device
        switch device.decision {
        case .pending where isTooSoon: throw Refusal("slow_down", "Ask less often.")
        case .pending: throw Refusal("authorization_pending", "The person has not finished yet.", number: 70_016)
        case .denied:
            devices[code] = nil
            throw Refusal(
                profile.isEntra ? "authorization_declined" : "access_denied",
                "The person said no.",
                number: 70_017
            )
        case .allowed(let authorization):
            devices[code] = nil
            return try issue(authorization, scopes: authorization.scopes, request, isRefresh: false)
        }
    }

    /// Records the decision for the device that shows `userCode`, in any case and with or without the dash.
    ///
    /// - Returns: Whether there is such a device.
    mutating func decideDevice(userCode: String, allowedBy username: String?, now: Date) -> Bool {
        func plain(_ code: String) -> String { code.uppercased().filter(\.isLetter) }
        let match = devices.first { plain($0.value.userCode) == plain(userCode) && $0.value.expires > now }
        guard let (code, device) = match, case .pending = device.decision else { return false }
        guard let username else {
            devices[code]?.decision = .denied
            return true
        }
        guard let account = account(username) else { return false }
        let family = newFamily()
        devices[code]?.decision = .allowed(
            Authorization(
                clientID: device.clientID,
                username: account.person.username,
                scopes: device.scopes.filter { !settings.declinedScopes.contains($0) },
                authenticatedAt: now,
                address: device.address,
                family: family,
                revocations: account.revocations
            )
        )
        return true
    }
}

/// A pushed authorization request that waits for its browser.
struct PushedRequest: Sendable {
    var clientID: String
    var items: [(String, String)]
    var expires: Date
}

/// - SeeAlso: [RFC 9126](https://www.rfc-editor.org/rfc/rfc9126)
extension ProviderState {
    /// Checks a pushed request as if a browser had brought it, and stores it.
    mutating func push(_ request: ProviderCall) throws(Refusal) -> ProviderResponse {
        guard settings.pushedAuthorizationRequests != .unavailable else { return ProviderResponse(status: 404) }
        let clientID = try clientID(posting: request)
        do {
            _ = try Interaction(request, in: self)
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
            expires: request.now.addingTimeInterval(lifetime.timeInterval)
        )
        let answer = JSONObject([
            ("request_uri", .string(requestURI)), ("expires_in", .integer(lifetime.components.seconds)),
        ])
        return .json(answer, status: 201)
    }

    /// Returns the request in the browser's own parameters, or the pushed request that its reference names, once.
    mutating func meant(by request: ProviderCall) throws(AuthorizationFailure) -> ProviderCall {
        // Not every profile has an endpoint for pushed requests.
        guard request.address.url(of: .pushedAuthorization) != nil else { return request }
        guard settings.pushedAuthorizationRequests != .unavailable, let requestURI = request["request_uri"] else {
            guard settings.pushedAuthorizationRequests != .required else {
                throw .page("Authorization requests have to be pushed before the browser comes.")
            }
            return request
        }
        guard let pushed = pushedRequests[requestURI], pushed.clientID == request["client_id"],
            pushed.expires > request.now
        else {
            throw .page("The request is not known, was used before or has expired. Start again from the program.")
        }
        pushedRequests[requestURI] = nil
        var meant = request
        (meant.message.method, meant.message.query, meant.message.form) = ("GET", pushed.items, [])
        return meant
    }
}
