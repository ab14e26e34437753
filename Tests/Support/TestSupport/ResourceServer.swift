// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
import HTTPTypes
package import IdentityClient
package import IdentityResources
package import LoopbackHTTP

/// An API on the loopback interface that keeps what it was asked.
package final class ResourceServer: Sendable {
    private let server: LoopbackServer
    private let log = Shared<[LoopbackRequest]>([])

    package init(_ respond: @escaping @Sendable (LoopbackRequest) async -> LoopbackResponse) throws {
        let log = log
        var limits = LoopbackServer.Limits()
        limits.maximumBodyLength = 32 << 20
        limits.maximumRequestLineLength = 32 << 10
        limits.maximumConnections = 64
        server = try LoopbackServer.start(limits: limits) { request in
            log.withLock { $0.append(request) }
            return await respond(request)
        }
    }

    /// One that answers 200 with `text`.
    package convenience init(answering text: String) throws {
        try self.init { _ in LoopbackResponse(status: 200, text: text) }
    }

    package var requests: [LoopbackRequest] { log.value }
    package var origin: String { "http://127.0.0.1:\(server.port)" }

    /// The values of `Authorization`, `-` where there was none.
    package var authorizations: [String] { requests.map { $0.headers["Authorization"] ?? "-" } }

    package func url(_ path: String = "/") throws -> URL {
        guard let url = URL(string: origin + path) else { throw NoSuchURL() }
        return url
    }

    package struct NoSuchURL: Error {}
}

extension LoopbackResponse {
    package static func unauthorized(_ challenge: String...) -> LoopbackResponse {
        var response = LoopbackResponse(status: 401, text: "no")
        response.headers = LoopbackHeaders(challenge.map { .init(name: "WWW-Authenticate", value: $0) })
        return response
    }

    package static func redirect(_ status: Int, to location: String) -> LoopbackResponse {
        LoopbackResponse(status: status, headers: ["Location": location])
    }

    package static func json(_ text: String) -> LoopbackResponse {
        LoopbackResponse(status: 200, text: text, type: "application/json")
    }
}

extension TestSetup {
    /// Alice's client of an API on the loopback interface, and her first token.
    package func resourceClient(
        timeout: Duration = .seconds(60),
        maximumResponseBytes: Int = 1 << 20,
        transport: any HTTPTransport = CurlTransport()
    ) async throws -> (AuthenticatedClient, String) {
        let (application, result) = try await signedIn()
        let client = AuthenticatedClient(
            application: application,
            account: result.account,
            scopes: ["api.read"],
            transport: transport,
            timeout: timeout,
            maximumResponseBytes: maximumResponseBytes
        )
        return (client, "Bearer \(result.accessToken)")
    }
}

package func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
