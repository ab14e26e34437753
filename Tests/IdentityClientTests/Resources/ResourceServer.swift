// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import IdentityClient
import LoopbackHTTP

/// An API on the loopback interface that records its requests.
final class ResourceServer: Sendable {
    private let server: LoopbackServer
    private let log = Shared<[LoopbackRequest]>([])

    init(_ respond: @escaping @Sendable (LoopbackRequest) async -> LoopbackResponse) throws {
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

    /// A server that answers 200 with `text`.
    convenience init(answering text: String) throws {
        try self.init { _ in LoopbackResponse(status: 200, text: text) }
    }

    var requests: [LoopbackRequest] { log.value }
    var origin: String { "http://127.0.0.1:\(server.port)" }

    /// The values of `Authorization`; `-` stands for a missing one.
    var authorizations: [String] { requests.map { $0.headers["Authorization"] ?? "-" } }

    func url(_ path: String = "/") throws -> URL {
        guard let url = URL(string: origin + path) else { throw NoSuchURL() }
        return url
    }

    struct NoSuchURL: Error {}
}

extension LoopbackResponse {
    static func unauthorized(_ challenge: String...) -> LoopbackResponse {
        var response = LoopbackResponse(status: 401, text: "no")
        response.headers = LoopbackHeaders(challenge.map { .init(name: "WWW-Authenticate", value: $0) })
        return response
    }

    static func redirect(_ status: Int, to location: String) -> LoopbackResponse {
        LoopbackResponse(status: status, headers: ["Location": location])
    }

    static func json(_ text: String) -> LoopbackResponse {
        LoopbackResponse(status: 200, text: text, type: "application/json")
    }
}

extension Stage {
    /// Alice's client of an API on the loopback interface, and her first token.
    func resourceClient(
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

func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
