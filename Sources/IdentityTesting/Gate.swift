// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import SystemSupport

/// Holds answers back until a test lets them go, to test events *during* a request.
///
/// ```swift
/// let gate = TestGate()
/// provider.failNext(.token, with: .held(by: gate))
/// let token = Task { try await application.acquireTokenSilently(scopes: scopes, account: account) }
/// try await provider.waitForRequest(.token)
/// // … sign the account out …
/// gate.open()
/// ```
public final class TestGate: Sendable {
    private let promise = Promise<Void>()

    /// Creates a closed gate.
    public init() {}

    /// Lets everything through from now on.
    public func open() { promise.fulfil() }

    /// Waits until the gate is open, or throws `CancellationError`.
    package func wait() async throws { try await promise.value() }
}
