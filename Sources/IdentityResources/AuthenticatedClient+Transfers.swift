// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import HTTPTypes
import IdentityClient

extension AuthenticatedClient {
    /// Starts to send `body`, which is read piece by piece. The answer is returned in memory.
    ///
    /// POST and PUT are usual methods. The progress is that of the upload; it starts again if the request has to be
    /// repeated, after a 401 for example. ``ResourceTransfer/value`` throws the errors of ``send(_:body:)``.
    public func upload(_ body: RequestBody, with request: HTTPRequest) -> ResourceTransfer {
        let client = self
        return ResourceTransfer { meter in
            try await ResourceCall(client).run(request, body, meter) { exchange in
                (exchange.response, try await exchange.wholeBody(atMost: client.maximumResponseBytes))
            }
        }
    }

    /// Starts to download the answer's body into the file at `path`.
    ///
    /// The file is written under another name in the same directory, `path` with `.part` and some letters, and gets its
    /// name when it is complete and on the disk. A previous file with that name is replaced, and its permissions are
    /// kept; links are followed. A download that ends early leaves no file. An answer outside 200 to 299 also leaves no
    /// file: its body is returned in memory. If `path` is not a regular file but a FIFO or a device, the bytes are
    /// written as they arrive. If the reader of a FIFO goes away, a program that does not ignore SIGPIPE receives it.
    ///
    /// ``ResourceTransfer/value`` throws the errors of ``send(_:body:)``, and `.fileUnavailable` when the file cannot be
    /// written: before anything is sent, if that is known by then.
    public func download(_ request: HTTPRequest, body: RequestBody? = nil, to path: String) -> ResourceTransfer {
        let client = self
        return ResourceTransfer { meter in
            // Opened before anything is sent: an answer that cannot be stored is not requested.
            let file = try await PartialFile.open(path)
            do {
                let exchange = try await ResourceCall(client).run(request, body) { $0 }
                guard exchange.response.status.kind == .successful else {
                    await file.discard()
                    return (exchange.response, try await exchange.wholeBody(atMost: client.maximumResponseBytes))
                }
                meter.begin(total: exchange.response.contentLength)
                while let piece = try await exchange.next() {
                    try await file.write(piece)
                    meter.add(piece.count)
                }
                try Task.checkCancellation()
                try await file.finish()
                meter.finish()
                return (exchange.response, [])
            } catch {
                await file.discard()
                throw error
            }
        }
    }
}

extension HTTPResponse {
    /// The length of the body, unless it is that of a compressed one.
    var contentLength: Int64? {
        headerFields[.contentEncoding] != nil
            ? nil : headerFields[.contentLength].flatMap { Int64($0) }.flatMap { $0 >= 0 ? $0 : nil }
    }
}

/// The body of an answer, piece by piece, for one loop. Leaving it ends the connection.
///
/// If the loop is slow, the server is slowed down: the buffer is bounded. A body that ends early ends the loop with
/// `AuthenticationError` of the family `.network`; a cancelled task ends it with `CancellationError`.
///
/// ```swift
/// let (_, body) = try await client.stream(AuthenticatedClient.request(.get, to: url))
/// for try await piece in body { consume(piece) }
/// ```
public struct ResponseBody: AsyncSequence, Sendable {
    /// A piece of the body: at least one byte.
    public typealias Element = [UInt8]

    private let exchange: any TransportExchange

    init(_ exchange: any TransportExchange) {
        self.exchange = exchange
    }

    /// The iterator of the loop.
    public struct AsyncIterator: AsyncIteratorProtocol {
        let exchange: any TransportExchange

        /// Returns the next piece; `nil` after the whole body.
        ///
        /// - Throws: `AuthenticationError` of the family `.network` when the body ends early; `CancellationError` when the task was cancelled.
        public mutating func next() async throws -> [UInt8]? {
            try await exchange.next()
        }
    }

    /// Starts the loop.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(exchange: exchange)
    }
}
