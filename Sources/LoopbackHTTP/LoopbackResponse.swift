// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The answer to a request.
package struct LoopbackResponse: Sendable {
    package enum Body: Sendable {
        /// Sent with its `Content-Length`.
        case bytes([UInt8])

        /// Sent piece by piece; closing the connection ends the body. No length is announced unless `headers` has one,
        /// which need not be true.
        case stream(@Sendable (LoopbackBodyWriter) async throws -> Void)

        /// No head either: the closure writes the whole answer, or nothing. Then the connection is closed.
        case raw(@Sendable (LoopbackBodyWriter) async throws -> Void)
    }

    package var status: Int

    /// Line breaks in values are replaced. `Content-Length` and `Connection` are added.
    package var headers: LoopbackHeaders

    package var body: Body

    /// Whether the connection ends after this answer even if the client would keep it.
    package var closesConnection: Bool

    /// Called once, on the server's thread, with whether the system took the whole answer before the connection ended.
    package var onDelivery: (@Sendable (Bool) -> Void)?

    package init(
        status: Int,
        headers: LoopbackHeaders = [:],
        body: Body = .bytes([]),
        closesConnection: Bool = false,
        onDelivery: (@Sendable (Bool) -> Void)? = nil
    ) {
        self.status = status
        self.headers = headers
        self.body = body
        self.closesConnection = closesConnection
        self.onDelivery = onDelivery
    }

    /// Text with its media type.
    package init(status: Int, text: String, type: String = "text/plain; charset=utf-8") {
        self.init(status: status, headers: ["Content-Type": type], body: .bytes(Array(text.utf8)))
    }

    /// No answer: the connection ends after the request is read.
    package static var dropped: LoopbackResponse { LoopbackResponse(status: 0, body: .raw { _ in }) }
}

/// Sends the pieces of a streamed answer.
package struct LoopbackBodyWriter: Sendable {
    let send: @Sendable ([UInt8]) async throws -> Void

    /// Returns when the system has taken the bytes, so that a slow reader slows the writer.
    ///
    /// - Throws: `CancellationError` when the connection is gone or the server closed.
    package func write(_ bytes: [UInt8]) async throws {
        try await send(bytes)
    }

    /// Writes text as UTF-8.
    package func write(_ text: String) async throws {
        try await send(Array(text.utf8))
    }
}
