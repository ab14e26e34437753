// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import Foundation
public import IdentityClient
import StandIn

/// What a program talks to: a real cloud, or the stand-in on this machine.
public struct Cloud: Sendable {
    /// The program's registration.
    public let registration: Registration
    /// The root of Graph with its version.
    public let graphURL: URL
    /// The root of the stand-in's services; `nil` at a real cloud.
    public let standInURL: URL?
    private let page: PageChoice
    /// Kept, so that it goes on running.
    private let running: StandIn?

    /// Finds what the options name, and starts the stand-in where they name nothing.
    ///
    /// - Parameters:
    ///   - options: What was chosen.
    ///   - fallback: The registration that a settings file names.
    ///   - graphURL: Graph's root at the real cloud.
    public static func open(_ options: ProgramOptions, else fallback: Registration?, graphURL: URL) async throws
        -> Cloud
    {
        if let registration = try options.registration ?? fallback {
            return Cloud(registration, graphURL: graphURL, standInURL: nil, options.page, running: nil)
        }
        if let root = options.standIn {
            guard let url = URL(string: root) else { throw ValidationFailure("--stand-in is not an address: \(root)") }
            return Cloud(try await StandIn.Addresses(at: url), options.page, running: nil)
        }
        let standIn = try await StandIn.start()
        return Cloud(standIn.addresses, options.page, running: standIn)
    }

    private init(
        _ registration: Registration,
        graphURL: URL,
        standInURL: URL?,
        _ page: PageChoice,
        running: StandIn?
    ) {
        self.registration = registration
        self.graphURL = graphURL
        self.standInURL = standInURL
        self.page = page
        self.running = running
    }

    private init(_ addresses: StandIn.Addresses, _ page: PageChoice, running: StandIn?) {
        self.init(
            Registration(clientID: addresses.clientID, authority: addresses.authority),
            graphURL: addresses.graph,
            standInURL: addresses.root,
            page,
            running: running
        )
    }

    /// An application object for this cloud.
    public func application(cache: any TokenCache) throws -> PublicClientApplication {
        var configuration = PublicClientApplication.Configuration(
            clientID: registration.clientID,
            authority: registration.authority,
            cache: cache
        )
        configuration.clientCapabilities = ["cp1"]
        configuration.redirectURI = registration.redirectURI
        configuration.show(page)
        return try PublicClientApplication(configuration)
    }
}

/// What was given cannot be used.
public struct ValidationFailure: Error, CustomStringConvertible, Equatable {
    /// What is wrong, and what it should be.
    public let description: String

    /// Says what is wrong.
    public init(_ description: String) {
        self.description = description
    }
}
