// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import GRPCCore
public import IdentityClient

/// Sends a person's access token with each call. Use it with a transport that encrypts.
public struct AccessTokenInterceptor: ClientInterceptor {
    private let application: PublicClientApplication
    private let parameters: SilentParameters

    /// - Parameter parameters: The token's account and scopes.
    public init(_ application: PublicClientApplication, _ parameters: SilentParameters) {
        self.application = application
        self.parameters = parameters
    }

    /// - Throws: `RPCError` with the code `unauthenticated`, and the `AuthenticationError` as its cause, if there is no token.
    public func intercept<Input: Sendable, Output: Sendable>(
        request: StreamingClientRequest<Input>,
        context: ClientContext,
        next: (StreamingClientRequest<Input>, ClientContext) async throws -> StreamingClientResponse<Output>
    ) async throws -> StreamingClientResponse<Output> {
        var request = request
        do {
            let token = try await application.acquireTokenSilently(parameters)
            request.metadata.replaceOrAddString("Bearer \(token.accessToken)", forKey: "authorization")
        } catch let error as AuthenticationError {
            // The cause tells whether a person is needed.
            throw RPCError(code: .unauthenticated, message: error.message, cause: error)
        }
        let response = try await next(request, context)
        if case .failure(let refusal) = response.accepted, refusal.code == .unauthenticated {
            // A stream cannot be sent twice: the program's next call has a new token. It also meets the error, if there is none.
            var renewed = parameters
            renewed.forcesRefresh = true
            _ = try? await application.acquireTokenSilently(renewed)
        }
        return response
    }
}
