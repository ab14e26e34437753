// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
import Synchronization

/// An exchange over a transport that cannot stream, with both bodies in memory.
final class BufferedExchange: HTTPExchange {
    let response: HTTPResponse
    private let body: Mutex<[UInt8]?>

    /// The maximum body for such a transport.
    static let maximumBodyLength: Int64 = 16 << 20

    init(_ transport: any HTTPTransport, _ request: HTTPRequest, body: (any HTTPBodySource)?) async throws {
        var bytes: [UInt8]?
        if let body {
            guard body.length <= Self.maximumBodyLength else {
                throw AuthenticationError(
                    .invalidArgument,
                    "The body is larger than 16 MiB, and this transport cannot stream. Use CurlTransport, or a "
                        + "StreamingHTTPTransport of your own."
                )
            }
            var gathered: [UInt8] = []
            while let piece = try await body.next() { gathered += piece }
            bytes = gathered
        }
        let (response, answer) = try await transport.send(request, body: bytes)
        self.response = response
        self.body = Mutex(answer.isEmpty ? nil : answer)
    }

    func next() async throws -> [UInt8]? {
        try Task.checkCancellation()
        return body.withLock { body in
            defer { body = nil }
            return body
        }
    }
}

extension HTTPTransport {
    /// Starts an exchange, streamed if this transport can.
    package func exchange(_ request: HTTPRequest, body: (any HTTPBodySource)?) async throws -> any HTTPExchange {
        if let streaming = self as? any StreamingHTTPTransport { return try await streaming.open(request, body: body) }
        return try await BufferedExchange(self, request, body: body)
    }
}
