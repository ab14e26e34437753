// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import GLibSupport
import IdentityClient
package import IdentityTelemetry
import SystemSupport

/// The settings of a keyring cache besides its name. Tests change them; programs use the defaults.
package struct KeyringSettings: Sendable {
    /// The name of GIO's library.
    package var gioLibrary = MessageBus.library
    /// The name of libsecret's library.
    package var secretLibrary = "libsecret-1.so.0"
    /// The bus, or `nil` for the session's.
    package var busAddress: String?
    /// The variables in which the session's bus is found.
    package var environment: @Sendable (String) -> String? = { SystemCall.environment($0) }
    /// The directory of locks and leases, or `nil` for the user's runtime directory.
    package var directory: String?
    /// The longest time that a read takes.
    package var readTimeout = Duration.seconds(5)
    /// The longest time that a write takes.
    package var writeTimeout = Duration.seconds(15)
    /// The longest wait for another process's lock.
    package var lockTimeout = Duration.seconds(5)
    /// The shortest time in which a person can close a dialog. A dialog that closes sooner was not shown.
    package var minimumDialogTime = Duration.milliseconds(300)

    /// The receiver of metrics and spans: what the package's traits ask for.
    package var telemetry: (any Telemetry)? = TelemetryBackend.current

    package init() {}
}

extension KeyringSettings {
    /// Connects to the bus.
    ///
    /// - Throws: `.keyringNoSessionBus`, `.keyringAccessDenied` for another user's bus, `.keyringLibraryMissing`, `GLibFailure`,
    ///   `CancellationError`.
    func connect() async throws -> BusConnection {
        let thread = try await GLibThread.running(library: gioLibrary)
        guard let address = busAddress ?? MessageBus.session(environment) else {
            throw AuthenticationError.keyring(.keyringNoSessionBus)
        }
        do {
            return try await BusConnection.connect(to: address, on: thread).value()
        } catch let failure as GLibFailure {
            guard !failure.meansMissingBus else { throw missing(failure) }
            let owner = MessageBus.owner(of: address)
            guard let owner, owner != SystemCall.effectiveUser else { throw failure }
            throw AuthenticationError.keyringBusOfAnother(owner, failure)
        }
    }

    private func missing(_ failure: GLibFailure) -> AuthenticationError {
        guard busAddress == nil, MessageBus.isNamed(environment) else {
            return .keyring(.keyringNoSessionBus, failure)
        }
        return .keyringMisledToBus(failure, other: MessageBus.pathInRuntimeDirectory(environment))
    }
}
