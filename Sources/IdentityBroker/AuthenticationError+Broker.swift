// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import GLibSupport
import IdentityClient
import SystemSupport

extension AuthenticationError {
    /// Translates a failure of the bus or of GLib. Returns other errors unchanged.
    static func fromBroker(_ error: any Error, _ correlationID: UUID) -> any Error {
        switch error {
        case let problem as LibraryProblem:
            unavailable("GLib, over which the identity broker is reached, \(words(problem))", problem, correlationID)
        case is NoSessionBus:
            unavailable(
                "There is no session bus, over which the identity broker is reached. Run this in a desktop session",
                nil,
                correlationID
            )
        case is BrokerLeft: silent("The identity broker ended during the call", nil, correlationID)
        case is DeadlineExceeded: silent("The identity broker did not answer in time", nil, correlationID)
        case let failure as GLibFailure: fromFailure(failure, correlationID)
        default: error
        }
    }

    private static func fromFailure(_ failure: GLibFailure, _ correlationID: UUID) -> AuthenticationError {
        let name = failure.name.map { $0.split(separator: ".").last.map(String.init) ?? $0 }
        switch name {
        case "ServiceUnknown", "NameHasNoOwner",
            _ where failure.name?.contains(".Error.Spawn.") == true:
            return unavailable(
                "No identity broker could be started here. Install Microsoft's (package microsoft-identity-broker) or "
                    + "Himmelblau's, and enroll the computer",
                failure,
                correlationID
            )
        case "UnknownMethod", "UnknownObject", "UnknownInterface":
            return unavailable("The identity broker has no such call. Update it", failure, correlationID)
        case "AccessDenied", "AuthFailed":
            return unavailable(
                "The system does not let this program use the identity broker. In a sandbox, allow it to talk to "
                    + "\(BrokerLink.service) (Flatpak: --talk-name)",
                failure,
                correlationID
            )
        case "NoReply", "Timeout", "TimedOut":
            return silent("The identity broker did not answer", failure, correlationID)
        default: break
        }
        switch (failure.domain, failure.code) {
        case ("g-io-error-quark", 13) where failure.name == nil:  // G_IO_ERROR_INVALID_ARGUMENT
            return brokerAnswer("it is no text", correlationID)
        case ("g-io-error-quark", 1), ("g-io-error-quark", 39):  // not found, connection refused
            return unavailable(
                "The session bus, over which the identity broker is reached, is not there",
                failure,
                correlationID
            )
        default: return silent("The identity broker could not be asked: \(failure.description)", failure, correlationID)
        }
    }

    /// There is no broker that could be asked.
    private static func unavailable(_ words: String, _ cause: (any Error)?, _ id: UUID) -> AuthenticationError {
        AuthenticationError(.brokerUnavailable, "\(words).", correlationID: id, underlyingError: cause)
    }

    /// There is a broker, and no answer now.
    private static func silent(_ words: String, _ cause: (any Error)?, _ id: UUID) -> AuthenticationError {
        AuthenticationError(
            .serverUnavailable,
            "\(words). Try again later, or sign in without the broker.",
            correlationID: id,
            underlyingError: cause
        )
    }

    private static func words(_ problem: LibraryProblem) -> String {
        switch problem {
        case .unloadable(let library, let reason): "could not be loaded: install \(library) (\(reason))"
        case .unsuitable(let library): "is too old: update \(library)"
        case .exhausted: "could not be started: the process is out of memory or threads"
        }
    }
}
