// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import Foundation
public import IdentityClient
import StandIn

/// The services that a program calls, of a real cloud or of the stand-in on this machine.
public struct Cloud: Sendable {
    /// The program's registration.
    public let registration: Registration
    /// The root URL of Graph, including its version.
    public let graphURL: URL
    /// The root of the stand-in's services; `nil` for a real cloud.
    public let standInURL: URL?
    private let options: ProgramOptions
    /// Kept so that the stand-in keeps running.
    private let running: StandIn?

    /// Whether the program has started the stand-in itself, which forgets every account when the program ends.
    public var endsWithProgram: Bool { running != nil }

    /// Finds the cloud that the options name, or starts the stand-in if they name none.
    ///
    /// - Parameters:
    ///   - options: The person's choices.
    ///   - fallback: The registration that a settings file names.
    ///   - graphURL: Graph's root at the real cloud.
    public static func open(
        _ options: ProgramOptions,
        else fallback: Registration?,
        graphURL: URL
    ) async throws -> Cloud {
        if let registration = try options.registration(else: fallback) {
            return Cloud(registration, graphURL: graphURL, standInURL: nil, options, running: nil)
        }
        if let root = options.standIn {
            guard let url = URL(string: root) else { throw ValidationFailure("--stand-in is not an address: \(root)") }
            return Cloud(try await StandIn.Addresses(at: url), options, running: nil)
        }
        let standIn = try await StandIn.start()
        return Cloud(standIn.addresses, options, running: standIn)
    }

    private init(
        _ registration: Registration,
        graphURL: URL,
        standInURL: URL?,
        _ options: ProgramOptions,
        running: StandIn?
    ) {
        self.registration = registration
        self.graphURL = graphURL
        self.standInURL = standInURL
        self.options = options
        self.running = running
    }

    private init(_ addresses: StandIn.Addresses, _ options: ProgramOptions, running: StandIn?) {
        self.init(
            Registration(clientID: addresses.clientID, authority: addresses.authority),
            graphURL: addresses.graph,
            standInURL: addresses.root,
            options,
            running: running
        )
    }

    /// Returns an application object for this cloud.
    public func application(cache: any TokenCache) throws -> PublicClientApplication {
        try PublicClientApplication(configuration(cache: cache))
    }

    /// Returns the configuration of an application object for this cloud.
    public func configuration(cache: any TokenCache) throws -> ClientConfiguration {
        var configuration = ClientConfiguration(
            clientID: registration.clientID,
            authority: registration.authority,
            cache: cache
        )
        configuration.clientCapabilities = ["cp1"]
        configuration.redirectURI = registration.redirectURI
        try options.configure(&configuration)
        return configuration
    }
}

/// An unusable option or setting.
public struct ValidationFailure: Error, CustomStringConvertible, Equatable {
    /// The problem and the remedy.
    public let description: String

    /// Creates a failure with a description.
    public init(_ description: String) {
        self.description = description
    }
}
