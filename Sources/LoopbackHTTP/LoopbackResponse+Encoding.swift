// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

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
        guard text.utf8.contains(where: { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F }) else { return text }
        return String(
            String.UnicodeScalarView(text.unicodeScalars.map { $0.value < 0x20 || $0 == "\u{7F}" ? " " : $0 })
        )
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
