// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import OAuthWire
import Testing

// The two ends of a module: the program asks UserInfo with its new token, or it refuses an answer and stores nothing.
extension TestSetup {
    private func parameters(_ mode: ResponseMode?, _ scopes: Set<Scope> = ["api.read"]) -> InteractiveParameters {
        var parameters = InteractiveParameters(scopes: scopes)
        parameters.responseMode = mode
        return parameters
    }

    /// The program, and Alice signed in to it in this response mode.
    func signedIn(
        _ mode: ResponseMode,
        scopes: Set<Scope> = ["api.read"]
    ) async throws -> (PublicClientApplication, AuthenticationResult) {
        let application = try application()
        return (application, try await application.acquireTokenInteractively(parameters(mode, scopes)))
    }

    /// Signs in and asks the UserInfo endpoint, as the suite wants it at the end of most modules.
    @discardableResult
    func completeModule(
        _ mode: ResponseMode? = nil,
        _ change: (inout ClientConfiguration) -> Void = { _ in }
    ) async throws -> AuthenticationResult {
        let application = try application(change)
        let result = try await application.acquireTokenInteractively(parameters(mode))
        #expect(result.source == .identityProvider && result.idToken != nil)
        #expect(try await application.userInfo(for: result.account).subject == "subject-alice")
        if let mode {
            let asked = provider.requests.first { $0.endpoint == .authorization }
            #expect((asked?["response_mode"] ?? "query") == mode.rawValue)
        }
        return result
    }

    /// Signs in, expects the refusal of the ID token for `reason`, and that nothing is stored.
    func refuseIDToken(
        _ tampering: IDTokenTampering? = nil,
        _ mode: ResponseMode? = nil,
        for reason: String
    ) async throws {
        if let tampering { provider.tamperNextIDToken(with: tampering) }
        let application = try application()
        let error = try await expectError(.invalidIDToken) {
            try await application.acquireTokenInteractively(parameters(mode))
        }
        #expect(error.message.contains(reason), "\(error.message)")
        #expect(provider.count(of: .token) == 1)
        #expect(try await storedCredentials(of: application).isEmpty)
    }

    /// The keys that the provider publishes.
    func publishedKeys() async throws -> [JSONObject] {
        let request = HTTPRequest(method: .get, scheme: "https", authority: "login.example.test", path: "/keys")
        let (_, body) = try await provider.transport.send(request, body: nil)
        provider.forgetRequests()
        let keys = try #require(try JSONObject(parsing: body).array("keys"))
        return try keys.map { value in
            guard case .object(let key) = value else { throw MissingError() }
            return key
        }
    }

    /// From now on, the provider publishes these keys.
    func publish(_ keys: [JSONObject]) {
        let texts = keys.map { String(decoding: $0.serialized(), as: UTF8.self) }
        provider.failAlways(.keys, with: .changing("keys", to: "[\(texts.joined(separator: ","))]"))
    }
}
