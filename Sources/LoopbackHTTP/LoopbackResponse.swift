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

extension LoopbackResponse {
    /// The status line and headers, and the body unless it is streamed or the request was a `HEAD`.
    func encoded(for method: String, closing: Bool) -> [UInt8] {
        var headers = headers
        var content: [UInt8] = []
        if case .bytes(let bytes) = body {
            if Self.hasLength(status) { headers["Content-Length"] = String(bytes.count) }
            if method != "HEAD", Self.hasLength(status) { content = bytes }
        }
        headers["Connection"] = closing ? "close" : "keep-alive"

        var head = "HTTP/1.1 \(status) \(Self.reason(status))\r\n"
        for field in headers.fields {
            head += "\(Self.oneLine(field.name)): \(Self.oneLine(field.value))\r\n"
        }
        head += "\r\n"
        return Array(head.utf8) + content
    }

    /// RFC 9110 §6.4.1 and §8.6: these never have a body.
    private static func hasLength(_ status: Int) -> Bool {
        status >= 200 && status != 204 && status != 304
    }

    /// A caller's value can never begin a new header or the body.
    private static func oneLine(_ text: String) -> String {
        String(decoding: text.utf8.map { $0.isFieldText ? $0 : 0x20 }, as: UTF8.self)
    }

    private static func reason(_ status: Int) -> String {
        switch status {
        case 200: "OK"
        case 201: "Created"
        case 204: "No Content"
        case 302: "Found"
        case 303: "See Other"
        case 307: "Temporary Redirect"
        case 400: "Bad Request"
        case 401: "Unauthorized"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 405: "Method Not Allowed"
        case 408: "Request Timeout"
        case 411: "Length Required"
        case 413: "Content Too Large"
        case 414: "URI Too Long"
        case 415: "Unsupported Media Type"
        case 417: "Expectation Failed"
        case 429: "Too Many Requests"
        case 431: "Request Header Fields Too Large"
        case 500: "Internal Server Error"
        case 501: "Not Implemented"
        case 503: "Service Unavailable"
        case 505: "HTTP Version Not Supported"
        default: ""
        }
    }
}
