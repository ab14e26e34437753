// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

// What swift-openapi-runtime and the MCP SDK ask of a type, as far as the blocks use it. Neither package is fetched.
import IdentityResources
import Synchronization

// Not compiled: `public import GRPCCore`: it is Examples/grpc, where it is tested.

protocol ClientMiddleware: Sendable {
    func intercept(
        _ request: HTTPRequest,
        body: HTTPBody?,
        baseURL: URL,
        operationID: String,
        next: @Sendable (HTTPRequest, HTTPBody?, URL) async throws -> (HTTPResponse, HTTPBody?)
    ) async throws -> (HTTPResponse, HTTPBody?)
}

final class HTTPBody: Sendable, Equatable {
    enum IterationBehavior { case single, multiple }
    let iterationBehavior = IterationBehavior.multiple
    static func == (one: HTTPBody, other: HTTPBody) -> Bool { one === other }
}

final class URLSession: Sendable {}

protocol HTTPClientAuthorizer: AnyObject, Sendable {
    var maxAuthorizationAttempts: Int { get }
    func validateEndpointSecurity(for endpoint: URL) throws
    func authorizationHeader(for endpoint: URL) -> String?
    func handleChallenge(
        statusCode: Int,
        headers: [String: String],
        endpoint: URL,
        operationKey: String?,
        session: URLSession
    ) async throws -> Bool
    func prepareAuthorization(for endpoint: URL, session: URLSession) async throws
}
