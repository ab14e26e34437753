// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

package import IdentityClient

/// A loopback receiver that waits for one of several fixed ports, if other sign-ins have them all.
///
/// Some servers compare ports, so that no other port will do, and a person works in one page after the other anyway.
package struct WaitingRedirectReceiver: RedirectReceiver {
    private let base: LoopbackRedirectReceiver
    private let patience: Duration

    /// - Parameter patience: How long a port is waited for.
    package init(_ base: LoopbackRedirectReceiver = LoopbackRedirectReceiver(), patience: Duration = .seconds(120)) {
        (self.base, self.patience) = (base, patience)
    }

    /// - Throws: `.redirectUnavailable`, for several ports after the wait; `CancellationError`.
    package func start(for redirectURI: RedirectURI, responseMode: ResponseMode) async throws -> any RedirectListener {
        try await waiting(for: redirectURI) { try await base.start(for: redirectURI, responseMode: responseMode) }
    }

    package func startSignOut(for redirectURI: RedirectURI) async throws -> any RedirectListener {
        try await waiting(for: redirectURI) { try await base.startSignOut(for: redirectURI) }
    }

    private func waiting(
        for redirectURI: RedirectURI,
        _ start: () async throws -> any RedirectListener
    ) async throws -> any RedirectListener {
        let deadline = ContinuousClock.now + patience
        while true {
            do {
                return try await start()
            } catch let error as AuthenticationError where error.code == .redirectUnavailable {
                // An error with a cause is about this computer, and one port alone may be another program's for good.
                guard case .loopback(_, let ports?, _) = redirectURI.kind, ports.count > 1,
                    error.underlyingError == nil, ContinuousClock.now < deadline
                else { throw error }
                try await Task.sleep(for: .milliseconds(100))
            }
        }
    }
}
