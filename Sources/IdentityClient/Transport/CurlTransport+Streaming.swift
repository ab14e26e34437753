// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import HTTPTypes

extension CurlTransport {
    /// Sends `request` with a streamed body, and returns the answer as soon as its head is there.
    ///
    /// - Throws: The errors of ``send(_:body:)``, and those of `body`.
    public func open(_ request: HTTPRequest, body: (any HTTPBodySource)?) async throws -> any HTTPExchange {
        try Task.checkCancellation()
        let stream = CurlStream()
        let (driver, ticket) = try submit(
            CurlRequest(request, body: nil, streamedLength: body?.length),
            .stream(stream)
        )
        let bodyTask = body.map { body in
            Task { await Self.sendBody(stream, from: body, driver, ticket) }
        }
        let handle = StreamHandle(stream: stream, driver: driver, ticket: ticket, bodyTask: bodyTask)
        let response = try await withTaskCancellationHandler {
            try await stream.head()
        } onCancel: {
            handle.cancel()
        }
        return CurlExchange(response: response, handle: handle)
    }

    private static func sendBody(
        _ stream: CurlStream,
        from body: any HTTPBodySource,
        _ driver: CurlDriver,
        _ ticket: UInt64
    ) async {
        do {
            var left = body.length
            while left > 0 {
                guard let piece = try await body.next(), piece.count <= left else {
                    throw AuthenticationError(.invalidArgument, "The body's length differs from the announced length.")
                }
                left -= Int64(piece.count)
                try await stream.give(piece)
                driver.wakeThread()
            }
        } catch {
            if stream.end(.failure(error)) { driver.abandon(ticket) }
        }
    }
}

/// The owner of a streamed transfer; releasing it ends the transfer.
final class StreamHandle: Sendable {
    let stream: CurlStream
    private let driver: CurlDriver
    private let ticket: UInt64
    private let bodyTask: Task<Void, Never>?

    init(stream: CurlStream, driver: CurlDriver, ticket: UInt64, bodyTask: Task<Void, Never>?) {
        self.stream = stream
        self.driver = driver
        self.ticket = ticket
        self.bodyTask = bodyTask
    }

    deinit {
        cancel()
    }

    func cancel() {
        bodyTask?.cancel()
        // The caller resumes first, because removing the transfer may wait for a resolver.
        if stream.end(.failure(CancellationError())) { driver.abandon(ticket) }
    }

    func next() async throws -> [UInt8]? {
        let piece = try await stream.next()
        driver.wakeThread()
        return piece
    }
}

/// A streamed answer.
struct CurlExchange: HTTPExchange {
    let response: HTTPResponse
    let handle: StreamHandle

    func next() async throws -> [UInt8]? {
        try await withTaskCancellationHandler {
            try await handle.next()
        } onCancel: {
            handle.cancel()
        }
    }
}
