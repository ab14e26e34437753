// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

extension PublicClientApplication {
    /// Signs a person in on another device, for programs without a browser: they open an address there, and type a code.
    ///
    /// Asks the provider as often as it allows until the person has finished, refused, or the code is void. A provider
    /// that cannot be reached meanwhile is asked less often, and does not end the sign-in before the code does. Cancel
    /// the task to give up.
    ///
    /// ```swift
    /// let result = try await app.acquireTokenWithDeviceCode(DeviceCodeParameters(scopes: scopes)) { prompt in
    ///     show(prompt.message)
    /// }
    /// ```
    ///
    /// The code signs in whoever enters it, wherever this program runs: show it to the person in front of it only.
    ///
    /// - Parameters:
    ///   - parameters: What is asked for.
    ///   - prompt: Is called once, with what to show to the person.
    /// - Throws: `AuthenticationError.Code.interactionTimedOut` when the code became void, `.accessDenied` when the person
    ///   refused, `.unsupported` when the provider does not offer it; else as ``acquireTokenInteractively(_:)``.
    /// - SeeAlso: [RFC 8628](https://www.rfc-editor.org/rfc/rfc8628)
    public func acquireTokenWithDeviceCode(
        _ parameters: DeviceCodeParameters,
        prompt: @Sendable (DeviceCodePrompt) -> Void
    ) async throws -> AuthenticationResult {
        let flow = DeviceAuthorizationFlow(
            environment: environment,
            context: environment.context(parameters.correlationID),
            parameters: parameters
        )
        return try await flow.run(prompt: prompt)
    }
}
