// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

/// The body of an answer, piece by piece, for one loop. Leaving it ends the connection.
///
/// If the loop is slow, the server is slowed down: the buffer is bounded. A body that ends early ends the loop with
/// `AuthenticationError.network`; a cancelled task ends it with `CancellationError`.
///
/// ```swift
/// let (_, body) = try await client.stream(HTTPRequest(.get, to: url))
/// for try await piece in body { consume(piece) }
/// ```
public struct ResponseBody: AsyncSequence, Sendable {
    /// A piece of the body: at least one byte.
    public typealias Element = [UInt8]

    private let exchange: any HTTPExchange

    init(_ exchange: any HTTPExchange) {
        self.exchange = exchange
    }

    /// The iterator of the loop.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let exchange: any HTTPExchange

        /// Returns the next piece; `nil` after the whole body.
        ///
        /// - Throws: `AuthenticationError.network` when the body ends early; `CancellationError` when the task was cancelled.
        public mutating func next() async throws -> [UInt8]? {
            try await exchange.next()
        }
    }

    /// Starts the loop.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(exchange: exchange)
    }
}
