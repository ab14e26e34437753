// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Whether an application object asks an identity broker. Brokers serve Entra ID only.
///
/// ```swift
/// configuration.broker = .whenAvailable(LinuxTokenBroker())
/// ```
///
/// With a broker, a token in the cache is still returned from the cache. Otherwise the broker is asked before this
/// library's own refresh token is redeemed, and before a browser is opened. The broker's refresh tokens stay with the
/// broker; its access tokens are stored in the cache.
public enum BrokerUse: Sendable {
    /// No broker is asked.
    case off

    /// The broker is asked first. If there is none, or it cannot be used, the program signs in through the browser as
    /// without a broker; `SignInPhase/brokerUnavailable(message:)` and the log tell the reason.
    case whenAvailable(any TokenBroker)

    /// Only the broker is asked. If it cannot be used, the call fails, with `.brokerUnavailable` if there is none.
    case required(any TokenBroker)
}

extension BrokerUse {
    /// The broker, if one is asked.
    var broker: (any TokenBroker)? {
        switch self {
        case .off: nil
        case .whenAvailable(let broker), .required(let broker): broker
        }
    }

    var isRequired: Bool { if case .required = self { true } else { false } }
}

extension AuthenticationError {
    /// Whether a sign-in may go on without the broker: the broker did not do its part, and no person and no policy has
    /// decided.
    var leavesTheSignInToTheBrowser: Bool {
        [.brokerUnavailable, .serverUnavailable, .unsupported, .configuration, .malformedResponse, .responseTooLarge]
            .contains(code)
    }

    /// Does `work` of a broker, and wraps an error that is none of this library's.
    static func ofBroker<Value>(_ context: RequestContext, _ work: () async throws -> Value) async throws -> Value {
        do {
            return try await work()
        } catch {
            if error is AuthenticationError || error is DeadlineExceeded || error.isOfACancelledTask { throw error }
            throw AuthenticationError(
                .brokerUnavailable,
                "The identity broker could not be asked.",
                correlationID: context.correlationID,
                underlyingError: error
            )
        }
    }
}
