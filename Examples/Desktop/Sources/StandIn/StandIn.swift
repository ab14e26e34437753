// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FlyingFox
import Foundation
public import IdentityTesting

/// The simulated cloud on this machine: an Entra-like and a B2C-like identity provider, a Graph with 500 people, and a
/// to-do list for each person. Use it to try the programs out and in their tests.
///
/// ```swift
/// let standIn = try await StandIn.start()
/// defer { standIn.stop() }
/// ```
///
/// Everything is on the loopback interface, kept in memory, and worthless anywhere else.
public final class StandIn: Sendable {
    /// The addresses of all services.
    public let addresses: Addresses

    /// The provider that plays Microsoft Entra ID. A test makes it demand or refuse things.
    public let entra: TestIdentityProvider

    /// The provider that plays Azure AD B2C.
    public let b2c: TestIdentityProvider

    /// The planned failures of the services' answers.
    public let faults: Faults

    private let server: HTTPServer
    private let running: Task<Void, any Error>

    /// Starts the stand-in, which runs until ``stop()`` is called or its last reference is gone.
    ///
    /// - Parameters:
    ///   - port: The port of the services; 0 takes any free port.
    ///   - code: The code that every person types on a separate page after the password, as if it had arrived in a text
    ///     message; `nil` means that there is no such page.
    /// - Throws: `AuthenticationError.configuration` if the providers cannot listen, a system error if the port is
    ///   taken, `CancellationError`.
    public static func start(port: UInt16 = 0, code: String? = nil) async throws -> StandIn {
        let (entra, b2c) = try (Providers.entra(), Providers.b2c())
        for provider in [entra, b2c] { provider.settings.secondFactorCode = code }
        let authority = try entra.listen()
        let b2cAuthority = try b2c.listen()
        let faults = Faults()
        let services = Services(entra: entra, b2c: b2c, faults: faults)
        let handler = ClosureHTTPHandler { await services.answer($0) }
        let server = HTTPServer(address: try .inet(ip4: "127.0.0.1", port: port), logger: .disabled, handler: handler)
        let running = Task { try await server.run() }
        do {
            try await server.waitUntilListening()
        } catch {
            running.cancel()
            try await running.value  // says why
            throw error
        }
        guard case .ip4(_, let port) = await server.listeningAddress,
            let root = URL(string: "http://127.0.0.1:\(port)")
        else { throw StartFailure() }
        let addresses = try Addresses(root: root, entra: authority, b2c: b2cAuthority)
        services.addresses.withLock { $0 = addresses }
        return StandIn(addresses, entra, b2c, faults, server, running)
    }

    private init(
        _ addresses: Addresses,
        _ entra: TestIdentityProvider,
        _ b2c: TestIdentityProvider,
        _ faults: Faults,
        _ server: HTTPServer,
        _ running: Task<Void, any Error>
    ) {
        self.addresses = addresses
        self.entra = entra
        self.b2c = b2c
        self.faults = faults
        self.server = server
        self.running = running
    }

    deinit {
        stop()
    }

    /// Frees the ports. The data in memory is lost.
    public func stop() {
        running.cancel()
        entra.close()
        b2c.close()
    }
}

/// The error if the stand-in cannot find out on which address it listens.
struct StartFailure: Error, CustomStringConvertible {
    var description: String { "The stand-in could not be started: its own port is not known." }
}
