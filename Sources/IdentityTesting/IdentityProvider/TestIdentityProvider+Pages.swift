// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import OAuthWire
import Synchronization

// The smaller endpoints.
extension TestIdentityProvider {
    func startDevice(_ request: ProviderCall) throws -> ProviderResponse {
        let (code, device) = try state.withLock { try $0.startDevice(request) }
        let page = request.address.url(of: .deviceVerification) ?? ""
        var body = JSONObject([
            ("device_code", .string(code)), ("user_code", .string(device.userCode)),
            ("verification_uri", .string(page)),
            ("expires_in", .integer(Int64(device.expires.timeIntervalSince(request.now)))),
            ("interval", .integer(device.interval.components.seconds)),
        ])
        if profile.isEntra {
            body["message"] = .string("To sign in, open \(page) and enter the code \(device.userCode).")
        } else {
            body["verification_uri_complete"] = .string(
                try FormURLEncoded.appending([("user_code", device.userCode)], to: page)
            )
        }
        return .json(body)
    }

    func verifyDevice(_ request: ProviderCall) -> ProviderResponse {
        let action = request.address.url(of: .deviceVerification) ?? ""
        guard request.method == "POST" else { return Self.devicePage(action, code: request["user_code"], problem: nil) }
        let username = request["username"] ?? ""
        let outcome = state.withLock { state -> String? in
            guard let account = state.account(username), account.person.password == request["password"] else {
                return "The username or the password is wrong."
            }
            let allows = request["action"] == "allow"
            let code = request["user_code"] ?? ""
            let isKnown = state.decideDevice(
                userCode: code,
                allowedBy: allows ? account.person.username : nil,
                now: request.now
            )
            return isKnown ? nil : "The code is not known, or has expired."
        }
        guard let outcome else {
            return ProviderPages.document("Done", "<p>You can go back to your device.</p>")
        }
        return Self.devicePage(action, code: request["user_code"], problem: outcome)
    }

    private static func devicePage(_ action: String, code: String?, problem: String?) -> ProviderResponse {
        return ProviderPages.form(
            "Connect a device",
            action: action,
            content: ProviderPages.note(problem) + """
                <label>Code <input name="user_code" id="user_code" value="\((code ?? "").escapedForHTML)"></label>
                <label>Username <input name="username" id="username"></label>
                <label>Password <input name="password" id="password" type="password"></label>
                """,
            buttons: [("allow", "Allow"), ("deny", "Deny")]
        )
    }

    /// - SeeAlso: [RP-Initiated Logout](https://openid.net/specs/openid-connect-rpinitiated-1_0.html)
    func endSession(_ request: ProviderCall) -> ProviderResponse {
        let client = state.withLock { state -> Client? in
            if let id = request.cookie(ProviderState.cookieName) { state.sessions[id] = nil }
            // An unreadable hint is ignored.
            let hint = request["id_token_hint"].flatMap { try? JSONWebToken(compact: $0) }
            let id = request["client_id"] ?? hint?.claims.string("aud")
            return id.flatMap { state.clients[$0] } ?? (state.clients.count == 1 ? state.clients.values.first : nil)
        }
        let cookie = ("Set-Cookie", "\(ProviderState.cookieName)=; Path=/; Max-Age=0")
        if let target = request["post_logout_redirect_uri"], client?.allows(target) == true {
            let items = request["state"].map { [("state", $0)] } ?? []
            // A registered URI has no fragment, so this never fails.
            let url = (try? FormURLEncoded.appending(items, to: target)) ?? target
            return .redirect(to: url, headers: [cookie])
        }
        var page = ProviderPages.document("Signed out", "<p>You are signed out of the provider.</p>")
        page.headers.append(cookie)
        return page
    }

    /// - SeeAlso: [OpenID Connect Core §5.3](https://openid.net/specs/openid-connect-core-1_0.html#UserInfo)
    func userInfo(_ request: ProviderCall) throws -> ProviderResponse {
        let state = snapshot
        let header = request.header("authorization") ?? ""
        let token = header.lowercased().hasPrefix("bearer ") ? String(header.dropFirst(7)) : ""
        guard let issued = state.accessTokens[token], issued.expires > request.now,
            let account = state.account(issued.authorization.username)
        else {
            return ProviderResponse(status: 401, headers: [("WWW-Authenticate", #"Bearer error="invalid_token""#)])
        }
        let claims = state.personClaims(account.person, at: request.address, scopes: issued.authorization.scopes)
        let answer = JSONObject([("sub", .string(account.person.subject))] + claims)
        guard state.settings.signsUserInfo else { return .json(answer) }
        let tampering = self.state.withLock { $0.faults.takeTampering() }
        let signed = try state.signedUserInfo(answer, for: issued.authorization, account.person, tampering)
        return ProviderResponse(status: 200, headers: [("Content-Type", "application/jwt")], body: Array(signed.utf8))
    }
}
