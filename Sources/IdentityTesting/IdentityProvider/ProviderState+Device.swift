// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import OAuthWire

/// - SeeAlso: [RFC 8628](https://www.rfc-editor.org/rfc/rfc8628)
extension ProviderState {
    mutating func startDevice(
        _ request: ProviderRequest,
        at address: ProviderAddress,
        now: Date
    ) throws(Refusal) -> (deviceCode: String, device: DeviceRequest) {
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
            address: address,
            expires: now.addingTimeInterval(settings.deviceCodeLifetime.timeInterval),
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

    mutating func redeemDeviceCode(
        _ request: ProviderRequest,
        clientID: String,
        now: Date
    ) throws(Refusal) -> TokenIssue {
        guard let code = request["device_code"], var device = devices[code], device.clientID == clientID else {
            throw Refusal("invalid_grant", "The device code is not valid.", number: 70_000)
        }
        guard device.expires > now else {
            throw Refusal("expired_token", "The device code has expired.", number: 70_020)
        }
        try checkProof(device.challenge, verifier: request["code_verifier"])
        let isTooSoon = device.lastAsked.map { now.timeIntervalSince($0) < device.interval.timeInterval } ?? false
        device.lastAsked = now
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
            return try issue(authorization, scopes: authorization.scopes, request, isRefresh: false, now: now)
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
