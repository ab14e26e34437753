// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FlyingFox
import Foundation
import IdentityTesting
import Synchronization

/// The services below the root: Graph, the to-do list, and the stand-in's own page.
final class Services: Sendable {
    let addresses = Mutex<StandIn.Addresses?>(nil)
    private let faults: StandIn.Faults
    private let graph: GraphService
    private let tasks: TaskService

    init(entra: TestIdentityProvider, b2c: TestIdentityProvider, faults: StandIn.Faults) {
        self.faults = faults
        graph = GraphService(gate: TokenGate(provider: entra, service: .graph, faults: faults))
        tasks = TaskService(gate: TokenGate(provider: b2c, service: .tasks, faults: faults))
    }

    func answer(_ request: HTTPRequest) async -> HTTPResponse {
        guard let addresses = addresses.withLock({ $0 }), isForUs(request, addresses) else {
            return .failure(.badRequest, "BadRequest", "This service is for this machine alone.")
        }
        let path = request.path.split(separator: "/").map(String.init)
        do {
            switch path.first {
            case "stand-in": return try await own(request, Array(path.dropFirst()), addresses)
            case "v1.0": return try await graph.answer(request, Array(path.dropFirst()), root: addresses.graph)
            case "api": return try await tasks.answer(request, Array(path.dropFirst()))
            default: return .failure(.notFound, "ResourceNotFound", "There is nothing here.")
            }
        } catch let refusal as HTTPRefusal {
            return refusal.response
        } catch {
            return .failure(.internalServerError, "InternalServerError", "The stand-in failed: \(error)")
        }
    }

    /// Returns whether the request is for this server. Refuses pages from other sites whose host name was made to point
    /// here.
    private func isForUs(_ request: HTTPRequest, _ addresses: StandIn.Addresses) -> Bool {
        guard let port = addresses.root.port else { return false }
        return ["127.0.0.1:\(port)", "localhost:\(port)"].contains(request.headers[.host])
    }

    /// Returns the addresses to other processes, and lets them plan faults.
    private func own(
        _ request: HTTPRequest,
        _ path: [String],
        _ addresses: StandIn.Addresses
    ) async throws -> HTTPResponse {
        switch (request.method, path) {
        case (.GET, []): return try .json(addresses)
        case (.POST, ["faults"]):
            // A browser asks for permission before it sends this type across origins, and gets none.
            guard request.headers[.contentType] == "application/json" else {
                throw HTTPRefusal(.unsupportedMediaType, "UnsupportedMediaType", "Send JSON.")
            }
            faults.add(try request.decode(StandIn.Faults.Plan.self, from: await request.bodyData))
            return HTTPResponse(statusCode: .noContent)
        default: throw HTTPRefusal(.notFound, "ResourceNotFound", "There is nothing here.")
        }
    }
}
