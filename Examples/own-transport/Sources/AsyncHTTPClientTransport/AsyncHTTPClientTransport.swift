// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import AsyncHTTPClient
import HTTPTypes
import IdentityClient
import NIOCore
import NIOHTTP1
import NIOSSL

/// A transport that sends the library's requests with AsyncHTTPClient, for programs that already use it.
///
/// ```swift
/// configuration.transport = AsyncHTTPClientTransport()
/// ```
///
/// How it meets the demands of the protocol:
/// - Redirects are not followed: the client is configured accordingly.
/// - Certificates are verified, with TLS 1.2 or later: `trustRoots` sets the trusted certificates.
/// - A request is sent at most once: failed connections are not tried again, because the library decides about that.
/// - Size and time are limited: the body is counted while it arrives, and one deadline covers connecting, the head
///   *and* the body (AsyncHTTPClient's own deadline ends with the head).
/// - Cancelling the task ends the request.
///
/// Releasing the object closes its connections.
public final class AsyncHTTPClientTransport: HTTPTransport {
    private let client: HTTPClient
    private let timeout: Duration
    private let maximumResponseBytes: Int

    /// Creates a transport with its own client.
    ///
    /// - Parameters:
    ///   - timeout: The time limit of a whole request.
    ///   - connectTimeout: The time limit for connecting, including the TLS handshake.
    ///   - maximumResponseBytes: The size of the largest accepted body.
    ///   - trustRoots: The certificates to trust.
    public init(
        timeout: Duration = .seconds(30),
        connectTimeout: Duration = .seconds(10),
        maximumResponseBytes: Int = 1024 * 1024,
        trustRoots: NIOSSLTrustRoots = .default
    ) {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        tls.trustRoots = trustRoots
        var configuration = HTTPClient.Configuration(
            tlsConfiguration: tls,
            redirectConfiguration: .disallow,
            timeout: .init(connect: TimeAmount(connectTimeout))
        )
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.decompression = .disabled
        client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        self.timeout = timeout
        self.maximumResponseBytes = maximumResponseBytes
    }

    deinit {
        // No request is in progress, because each request retains this object.
        client.shutdown { _ in }
    }

    /// Sends `request` with `body` and returns the whole answer.
    ///
    /// - Throws: `AuthenticationError` with `.network` or one of its sub-codes if no answer came, `.malformedResponse`
    ///   if the answer exceeded the limit; `CancellationError` if the task was cancelled.
    public func send(_ request: HTTPRequest, body: [UInt8]?) async throws -> (HTTPResponse, [UInt8]) {
        do {
            return try await withThrowingTaskGroup(of: (HTTPResponse, [UInt8])?.self) { group in
                group.addTask { try await self.exchange(request, body) }
                group.addTask { [timeout] in
                    try await Task.sleep(for: timeout)
                    return nil
                }
                defer { group.cancelAll() }
                guard let answer = try await group.next() ?? nil else { throw HTTPClientError.deadlineExceeded }
                return answer
            }
        } catch {
            if Task.isCancelled { throw CancellationError() }
            throw AuthenticationError(transportError: error, host: request.authority ?? "The server")
        }
    }

    private func exchange(_ request: HTTPRequest, _ body: [UInt8]?) async throws -> (HTTPResponse, [UInt8]) {
        var outgoing = HTTPClientRequest(
            url: "\(request.scheme ?? "https")://\(request.authority ?? "")\(request.path ?? "/")"
        )
        outgoing.method = HTTPMethod(rawValue: request.method.rawValue)
        for field in request.headerFields { outgoing.headers.add(name: field.name.rawName, value: field.value) }
        if let body { outgoing.body = .bytes(body) }

        let answer = try await client.execute(outgoing, deadline: .now() + TimeAmount(timeout))
        var response = HTTPResponse(status: HTTPResponse.Status(code: Int(answer.status.code)))
        for (name, value) in answer.headers {
            guard let name = HTTPField.Name(name) else { continue }
            response.headerFields.append(HTTPField(name: name, value: value))
        }
        let bytes = try await answer.body.collect(upTo: maximumResponseBytes)
        return (response, Array(bytes.readableBytesView))
    }
}
