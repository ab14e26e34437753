// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import Foundation
import HTTPTypes
public import IdentityClient

extension StandIn {
    /// The addresses of all services, as a program would configure them for the real cloud.
    public struct Addresses: Hashable, Sendable {
        /// The root of the services, which also names a stand-in to other programs.
        public let root: URL
        /// The Entra-like authority.
        public let authority: Authority
        /// The root of the B2C-like provider's tenant, with a trailing slash.
        let b2cTenant: String

        /// The program's identifier at both providers.
        public var clientID: ClientID { Providers.clientID }

        /// The root of Graph, `…/v1.0`.
        public var graph: URL { root.appending(path: "v1.0") }

        /// The root of the to-do service; the tasks are at `api/tasks` below it.
        public var todo: URL { root }

        /// Returns the B2C-like authority of a policy.
        ///
        /// - Throws: `AuthenticationError.configuration` if the policy cannot be part of an address.
        public func b2cAuthority(policy: String) throws -> Authority {
            try Authority(url: b2cTenant + policy)
        }

        /// Creates the addresses.
        ///
        /// - Parameter b2c: The authority of any policy.
        init(root: URL, entra: Authority, b2c: Authority) throws {
            guard let policy = URL(string: b2c.description) else { throw StartFailure() }
            self.root = root
            authority = entra
            b2cTenant = policy.deletingLastPathComponent().absoluteString
        }
    }
}

extension StandIn.Addresses: Codable {
    private enum Key: String, CodingKey {
        case root, authority, b2cTenant
    }

    /// Decodes the addresses from the form that ``encode(to:)`` writes.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: Key.self)
        root = try values.decode(URL.self, forKey: .root)
        authority = try Authority(url: try values.decode(String.self, forKey: .authority))
        b2cTenant = try values.decode(String.self, forKey: .b2cTenant)
    }

    /// Encodes the parts that differ between stand-ins.
    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: Key.self)
        try values.encode(root, forKey: .root)
        try values.encode(authority.description, forKey: .authority)
        try values.encode(b2cTenant, forKey: .b2cTenant)
    }

    /// Fetches the addresses of a stand-in in another process. `swift run stand-in` prints its root.
    ///
    /// - Parameter root: The root, for example `http://127.0.0.1:40123`.
    /// - Throws: `AuthenticationError.network` if no server answers there, `.invalidResponse` if the server is not a
    ///   stand-in; `CancellationError`.
    public init(at root: URL) async throws {
        let authority = "\(root.host() ?? ""):\(root.port ?? 80)"
        let request = HTTPRequest(method: .get, scheme: root.scheme, authority: authority, path: "/stand-in")
        let (response, body) = try await CurlTransport(timeout: .seconds(5)).send(request, body: nil)
        guard response.status == .ok, let known = try? JSONDecoder().decode(Self.self, from: Data(body)) else {
            throw AuthenticationError(.invalidResponse, "The server at \(root.absoluteString) is not a stand-in.")
        }
        self = known
    }
}
