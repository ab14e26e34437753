// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTestSupport
import Synchronization
import Testing

/// A program that signs people in: an application object with real parts, and the values that a test examines.
struct Program: Sendable {
    let provider: Provider
    let directory: TemporaryDirectory
    let person: Person
    let clock = AheadClock()
    let wire: Wiretap
    let app: PublicClientApplication

    static let scopes: Set<Scope> = ["api.read"]

    /// Creates a program.
    ///
    /// - Parameter adjust: Changes the configuration for the test.
    init(
        at provider: Provider,
        with kind: Person.Kind,
        mode: String = "approve",
        profile: String? = nil,
        username: String? = nil,
        directory: TemporaryDirectory? = nil,
        adjust: (inout ClientConfiguration) throws -> Void = { _ in }
    ) throws {
        self.provider = provider
        self.directory = try directory ?? TemporaryDirectory()
        person = try Person(
            kind,
            at: provider,
            mode: mode,
            profile: profile,
            username: username,
            logsTo: self.directory
        )
        wire = Wiretap(CurlTransport(certificateAuthorities: try provider.certificateAuthority))
        var configuration = ClientConfiguration(
            clientID: try provider.clientID,
            authority: try provider.authority,
            cache: FileTokenCache(directory: "\(self.directory.path)/tokens")
        )
        configuration.redirectURI = try provider.redirectURI
        configuration.transport = wire
        configuration.browser = person.launcher
        configuration.redirectReceiver = LoopbackRedirectReceiver(applicationName: "End to End")
        configuration.clock = clock
        try adjust(&configuration)
        app = try PublicClientApplication(configuration)
    }

    /// Signs the person in, within 40 seconds, in query mode by default.
    func signIn(
        _ responseMode: ResponseMode? = .query,
        adjust: (inout InteractiveParameters) -> Void = { _ in }
    ) async throws -> AuthenticationResult {
        var parameters = InteractiveParameters(scopes: Self.scopes)
        parameters.responseMode = responseMode
        parameters.timeout = .seconds(40)
        adjust(&parameters)
        return try await app.acquireTokenInteractively(parameters)
    }

    func token(for account: Account) async throws -> AuthenticationResult {
        try await app.acquireTokenSilently(scopes: Self.scopes, account: account)
    }

    /// Signs in, and returns the error with which the sign-in fails.
    func signInError(
        adjust: (inout InteractiveParameters) -> Void = { _ in }
    ) async throws -> AuthenticationError {
        try await #require(throws: AuthenticationError.self) { try await signIn(adjust: adjust) }
    }

    /// Acquires a token silently, and returns the error with which that fails.
    func tokenError(for account: Account) async throws -> AuthenticationError {
        try await #require(throws: AuthenticationError.self) { try await token(for: account) }
    }

    /// Redeems a grant at the token endpoint, as another program would.
    func redeem(_ form: [String: String]) async throws -> (status: Int, answer: TokenAnswer) {
        let endpoint = try provider.issuer + (provider.name == .glewlwyd ? "/token" : "/token/")
        return try await wire.post(form.merging(["client_id": try provider.clientID.rawValue]) { $1 }, to: endpoint)
    }

    /// Refreshes, and then redeems the old refresh token again, as a thief would. The provider ends the sign-in, and
    /// the program does not know it yet.
    func sufferTheft(from account: Account) async throws {
        let old = try wire.refreshToken
        clock.advance(by: try provider.accessTokenLifetime)
        _ = try await token(for: account)
        let theft = try await redeem(["grant_type": "refresh_token", "refresh_token": old])
        #expect(theft.status == 400)
        #expect(theft.answer.accessToken == nil)
    }

    /// Returns whether the provider accepts an access token.
    func isHonoured(_ result: AuthenticationResult) async throws -> Bool {
        let endpoint = try provider.issuer + (provider.name == .glewlwyd ? "/userinfo" : "/userinfo/")
        return try await wire.get(endpoint, bearer: result.accessToken) == 200
    }
}
