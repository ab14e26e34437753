// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FlyingFox
public import Foundation
public import IdentityClient
public import IdentityTesting

/// The cloud on this machine: an Entra-like and a B2C-like identity provider, a Graph with 500 people, and a to-do list
/// for each person. For trying the programs out, and for their tests.
///
/// ```swift
/// let standIn = try await StandIn.start()
/// defer { standIn.stop() }
/// ```
///
/// All of it is on the loopback interface, kept in memory, and worth nothing anywhere else.
public final class StandIn: Sendable {
    /// Where programs find everything.
    public let addresses: Addresses

    /// What plays Microsoft Entra ID; a test makes it demand or refuse things.
    public let entra: TestIdentityProvider

    /// What plays Azure AD B2C.
    public let b2c: TestIdentityProvider

    /// What goes wrong with the services' answers.
    public let faults: Faults

    private let server: HTTPServer
    private let running: Task<Void, any Error>

    /// Starts everything; it runs until ``stop()``, or until the last reference is gone.
    ///
    /// - Parameters:
    ///   - port: The port of the services; 0 takes any free one.
    ///   - code: What everybody types on a page of its own after the password, as a text message would have brought it;
    ///     `nil` means that there is no such page.
    /// - Throws: `AuthenticationError.configuration` when the providers cannot listen, an error of the system when the
    ///   port is taken, `CancellationError`.
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

    /// Frees the ports. What was kept is forgotten.
    public func stop() {
        running.cancel()
        entra.close()
        b2c.close()
    }

    /// The Entra-like authority.
    public var authority: Authority { addresses.authority }

    /// The B2C-like authority of a policy: `b2c_1_susi`, `b2c_1_edit` or `b2c_1_reset`.
    ///
    /// - Throws: `AuthenticationError.configuration` when the policy cannot be part of an address.
    public func b2cAuthority(policy: String) throws -> Authority { try addresses.b2cAuthority(policy: policy) }

    /// The program's identifier at both providers.
    public var clientID: ClientID { addresses.clientID }

    /// The root of Graph, `…/v1.0`.
    public var graphURL: URL { addresses.graph }

    /// The root of the to-do service; the tasks are at `api/tasks` below it.
    public var todoURL: URL { addresses.todo }
}

/// The stand-in could not find out where it listens.
struct StartFailure: Error, CustomStringConvertible {
    var description: String { "The stand-in could not be started: its own port is not known." }
}
