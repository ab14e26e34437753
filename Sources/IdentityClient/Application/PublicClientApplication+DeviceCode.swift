// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityTelemetry

extension PublicClientApplication {
    /// Signs a person in on another device, for programs without a browser: the person opens an address there and types
    /// a code.
    ///
    /// Polls the provider as often as it allows until the person has finished or refused, or the code has expired. A
    /// provider that cannot be reached meanwhile is polled less often, and does not end the sign-in before the code
    /// expires. Cancel the task to give up.
    ///
    /// ```swift
    /// let result = try await app.acquireTokenWithDeviceCode(DeviceCodeParameters(scopes: scopes)) { prompt in
    ///     show(prompt.message)
    /// }
    /// ```
    ///
    /// The code signs in any person who enters it, wherever this program runs: show it only to the person in front of
    /// it.
    ///
    /// - Parameters:
    ///   - parameters: The scopes and options of the sign-in.
    ///   - prompt: Called once, with the instructions to show to the person.
    /// - Throws: `AuthenticationError.Code.interactionTimedOut` when the code expired, `.accessDenied` when the person
    ///   refused, `.unsupported` when the provider does not offer the device flow; otherwise the errors of
    ///   ``acquireTokenInteractively(_:)``.
    /// - SeeAlso: [RFC 8628](https://www.rfc-editor.org/rfc/rfc8628)
    public func acquireTokenWithDeviceCode(
        _ parameters: DeviceCodeParameters,
        prompt: @Sendable (DeviceCodePrompt) -> Void
    ) async throws -> AuthenticationResult {
        let context = environment.context(parameters.correlationID)
        let flow = DeviceAuthorizationFlow(environment: environment, context: context, parameters: parameters)
        return try await environment.observing(.acquireWithDeviceCode, context) { try await flow.run(prompt: prompt) }
    }
}
