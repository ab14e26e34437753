// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

package import IdentityClient

/// A loopback receiver that waits for one of several fixed ports, if other sign-ins have them all.
///
/// Some servers compare ports, and a person works in one page after the other anyway. A server that has the address without a port
/// as well should let every port pass (RFC 8252 §7.3), so that another program with the ports holds no sign-in up for long.
package struct WaitingRedirectReceiver: RedirectReceiver {
    private let base: LoopbackRedirectReceiver
    private let takesAnyPort: Bool
    private let patience: Duration
    private let told: Duration
    private let onWait: @Sendable (String) -> Void

    /// - Parameters:
    ///   - takesAnyPort: Whether another port is taken after the wait.
    ///   - patience: How long a port is waited for; `nil` for 10 s if any port will do, and otherwise for 120 s.
    ///   - told: The time after which the wait is told.
    ///   - onWait: Gets a sentence about the wait.
    package init(
        _ base: LoopbackRedirectReceiver = LoopbackRedirectReceiver(),
        takesAnyPort: Bool = false,
        patience: Duration? = nil,
        told: Duration = .seconds(1),
        onWait: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        (self.base, self.takesAnyPort, self.told, self.onWait) = (base, takesAnyPort, told, onWait)
        self.patience = patience ?? .seconds(takesAnyPort ? 10 : 120)
    }

    /// - Throws: `.redirectUnavailable`, for several ports after the wait; `CancellationError`.
    package func start(for redirectURI: RedirectURI, responseMode: ResponseMode) async throws -> any RedirectListener {
        try await waiting(for: redirectURI) { try await base.start(for: $0, responseMode: responseMode) }
    }

    package func startSignOut(for redirectURI: RedirectURI) async throws -> any RedirectListener {
        try await waiting(for: redirectURI) { try await base.startSignOut(for: $0) }
    }

    private func waiting(
        for redirectURI: RedirectURI,
        _ start: (RedirectURI) async throws -> any RedirectListener
    ) async throws -> any RedirectListener {
        let begin = ContinuousClock.now
        var isTold = false
        while true {
            do {
                return try await start(redirectURI)
            } catch let error as AuthenticationError where error.code == .redirectUnavailable {
                // An error with a cause is about this computer, and one port alone may be another program's for good.
                guard case .loopback(let host, let ports?, let path) = redirectURI.kind, ports.count > 1,
                    error.underlyingError == nil
                else { throw error }
                let waited = ContinuousClock.now - begin
                guard waited < patience else {
                    guard takesAnyPort else { throw error }
                    return try await start(.loopback(host: host, path: path))
                }
                if !isTold, waited >= told {
                    isTold = true
                    onWait(sentence(on: ports))
                }
                try await Task.sleep(for: .milliseconds(100))
            }
        }
    }

    private func sentence(on ports: ClosedRange<UInt16>) -> String {
        let after =
            takesAnyPort ? "after that with another port, which not every server takes" : "then the sign-in fails"
        return
            "The browser comes back to one of the ports \(ports.lowerBound) to \(ports.upperBound), which other programs or "
            + "sign-ins have. One is waited for, for \(patience.components.seconds) s at most; \(after)."
    }
}
