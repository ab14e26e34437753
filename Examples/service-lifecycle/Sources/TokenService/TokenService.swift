// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import IdentityClient
public import ServiceLifecycle

/// Hands a person's access tokens to the other services of a group: the token of now, and a new one before each ends.
///
/// It ends with the group. A refresh that is under way then is finished first, and its tokens are written: the server has spent the
/// refresh token that the cache holds.
public struct TokenService: Service {
    private let application: PublicClientApplication
    private let parameters: SilentParameters
    private let use: @Sendable (AuthenticationResult) -> Void

    /// - Parameter use: Gets each token. An outage changes nothing; the last token stays.
    public init(
        _ application: PublicClientApplication,
        _ parameters: SilentParameters,
        use: @escaping @Sendable (AuthenticationResult) -> Void
    ) {
        self.application = application
        self.parameters = parameters
        self.use = use
    }

    /// - Throws: `AuthenticationError.interactionRequired` if the person has to sign in again.
    public func run() async throws {
        do {
            for try await token in application.liveTokens(parameters).waitingOutOutages().cancelOnGracefulShutdown() {
                use(token)
            }
        } catch {
            try? await finish()  // the first error says more
            throw error
        }
        try await finish()
    }

    /// In a task of its own: a group whose time is over cancels this one.
    private func finish() async throws {
        try await Task { [application] in try await application.finishPendingWork(within: .seconds(10)) }.value
    }
}
