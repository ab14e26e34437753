// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import OAuthWire
import Testing

/// Sends plain requests to the provider, as the RFCs describe them, without the library's flows.
struct ProviderClient {
    struct Answer {
        var status: Int
        var headers: HTTPFields
        var text: String

        var json: JSONObject {
            get throws { try JSONObject(parsing: Array(text.utf8)) }
        }

        /// The parameters of the redirect.
        var redirect: [String: String] {
            get throws {
                let location = try #require(headers[.location])
                let query = try #require(location.split(separator: "?", maxSplits: 1).dropFirst().first)
                return Dictionary(try FormURLEncoded.decode(String(query))) { first, _ in first }
            }
        }
    }

    static let redirectURI = "http://127.0.0.1:50123/callback"

    let provider: TestIdentityProvider
    var base = "https://login.example.test"
    var tokenPath = "/token"
    var authorizePath = "/authorize"
    let key = ProofKey()

    func get(_ path: String, authorization: String? = nil) async throws -> Answer {
        try await send(.get, path, nil, authorization)
    }

    func post(_ path: String, _ form: [(String, String)], authorization: String? = nil) async throws -> Answer {
        try await send(.post, path, form, authorization)
    }

    func authorizationItems(_ changes: [String: String?] = [:]) -> [(String, String)] {
        var items: [String: String] = [
            "client_id": "test-client", "response_type": "code", "redirect_uri": Self.redirectURI,
            "scope": "openid profile offline_access", "state": "the-state", "nonce": "the-nonce",
            "code_challenge": key.challenge, "code_challenge_method": "S256",
        ]
        for (name, value) in changes { items[name] = value }
        return items.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    func authorize(_ changes: [String: String?] = [:]) async throws -> Answer {
        try await get(FormURLEncoded.appending(authorizationItems(changes), to: authorizePath))
    }

    /// The code that an automatically approving provider issues.
    func code(_ changes: [String: String?] = [:]) async throws -> String {
        try #require(try await authorize(changes).redirect["code"])
    }

    func redeem(code: String, verifier: String? = nil, redirectURI: String = redirectURI) async throws -> Answer {
        try await post(
            tokenPath,
            TokenRequestMessage.authorizationCode(
                clientID: "test-client",
                code: code,
                redirectURI: redirectURI,
                codeVerifier: verifier ?? key.verifier,
                clientInfo: true
            )
        )
    }

    func refresh(_ token: String, scopes: [String] = []) async throws -> Answer {
        try await post(
            tokenPath,
            TokenRequestMessage.refreshToken(
                clientID: "test-client",
                refreshToken: token,
                scopes: scopes,
                clientInfo: true
            )
        )
    }

    private func send(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ form: [(String, String)]?,
        _ authorization: String?
    ) async throws -> Answer {
        let host = String(base.drop { $0 != "/" }.dropFirst(2))
        let scheme = String(base.prefix { $0 != ":" })
        var request = HTTPRequest(method: method, scheme: scheme, authority: host, path: path)
        if form != nil { request.headerFields[.contentType] = "application/x-www-form-urlencoded" }
        if let authorization { request.headerFields[.authorization] = authorization }
        let body = form.map { Array(FormURLEncoded.encode($0).utf8) }
        let (response, bytes) = try await provider.transport.send(request, body: body)
        return Answer(
            status: response.status.code,
            headers: response.headerFields,
            text: String(decoding: bytes, as: UTF8.self)
        )
    }
}

extension TestIdentityProvider {
    /// A provider whose people sign in without a page.
    static func approving(
        _ profile: Profile = .openIDConnect,
        clock: any WallClock = ManualClock(),
        _ change: (inout Settings) -> Void = { _ in }
    ) throws -> TestIdentityProvider {
        var settings = Settings(profile)
        settings.autoApproves = true
        change(&settings)
        return try TestIdentityProvider(profile: profile, clock: clock, settings: settings)
    }
}
