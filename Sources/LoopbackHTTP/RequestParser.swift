// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Parses one request from the arrived bytes. It refuses unusual requests, so that no software between the browser and
/// the server can disagree about the end of a request.
///
/// - SeeAlso: [RFC 9112](https://www.rfc-editor.org/rfc/rfc9112)
struct RequestParser {
    enum Step {
        /// More bytes are needed.
        case incomplete
        case complete(LoopbackRequest, length: Int, keepsAlive: Bool)
        /// Answer with this status and close, because the next request's beginning is unknown.
        case refused(status: Int)
    }

    /// The progress in an incomplete request, so that no byte is read again for each new byte.
    struct Progress {
        /// The number of scanned bytes without the end of the head.
        fileprivate var scanned = 0
        fileprivate var hasRequestLine = false
        /// The length of the whole request, once its head is known.
        fileprivate var needed = 0
    }

    private struct Refusal: Error {
        var status: Int
    }

    private let limits: LoopbackServer.Limits

    init(_ limits: LoopbackServer.Limits) {
        self.limits = limits
    }

    /// - Parameter progress: The value from the last call, for the same request with more bytes; begin with a new
    ///   value.
    func parse(_ input: [UInt8], _ progress: inout Progress) -> Step {
        guard input.count >= progress.needed else { return .incomplete }
        do {
            return try step(input, &progress)
        } catch let refusal {
            return .refused(status: refusal.status)
        }
    }

    private func step(_ input: [UInt8], _ progress: inout Progress) throws(Refusal) -> Step {
        // RFC 9112 §2.2: an empty line before the request line is skipped.
        let start = input.starts(with: [0x0D, 0x0A]) ? 2 : 0
        try findRequestLine(input, from: start, &progress)
        guard let end = endOfHead(input, from: max(start, progress.scanned - 3)) else {
            guard input.count - start < limits.maximumHeadLength else { throw Refusal(status: 431) }
            progress.scanned = input.count
            return .incomplete
        }
        guard end - start <= limits.maximumHeadLength else { throw Refusal(status: 431) }

        var lines = try lines(input[start..<end - 2])
        let line = try requestLine(lines.removeFirst())
        let headers = try LoopbackHeaders(lines.map { line throws(Refusal) in try field(line) })
        guard headers.values(of: "Host").count == (line.isLatest ? 1 : min(1, headers.values(of: "Host").count)) else {
            throw Refusal(status: 400)
        }
        let length = try bodyLength(headers)
        // A client that waits for a `100 Continue` sends the request again without the field (RFC 9110 §10.1.1).
        guard headers["Expect"] == nil else { throw Refusal(status: 417) }
        guard input.count - end >= length else {
            progress.needed = end + length
            return .incomplete
        }
        let request = LoopbackRequest(
            method: line.method,
            target: line.target,
            headers: headers,
            body: Array(input[end..<end + length])
        )
        let wish = headers.values(of: "Connection").joined(separator: ",").lowercased()
        return .complete(request, length: end + length, keepsAlive: line.isLatest && !wish.contains("close"))
    }

    /// Refuses a request line as soon as it exceeds the limit.
    private func findRequestLine(_ input: [UInt8], from start: Int, _ progress: inout Progress) throws(Refusal) {
        guard !progress.hasRequestLine else { return }
        let limit = min(input.count, start + limits.maximumRequestLineLength)
        let begin = min(limit, max(start, progress.scanned))
        progress.hasRequestLine = input[begin..<limit].contains(0x0A)
        guard progress.hasRequestLine || input.count - start < limits.maximumRequestLineLength else {
            throw Refusal(status: 431)
        }
    }

    /// The index after the empty line that ends the head.
    private func endOfHead(_ input: [UInt8], from start: Int) -> Int? {
        var index = start
        while index + 3 < input.count {
            if input[index] == 0x0D, input[index + 1] == 0x0A, input[index + 2] == 0x0D, input[index + 3] == 0x0A {
                return index + 4
            }
            index += 1
        }
        return nil
    }

    /// The lines of a head that ends with a line break. A carriage return or line feed alone is refused.
    private func lines(_ head: ArraySlice<UInt8>) throws(Refusal) -> [ArraySlice<UInt8>] {
        var lines: [ArraySlice<UInt8>] = []
        var start = head.startIndex
        while let end = head[start...].firstIndex(of: 0x0A) {
            guard end > start, head[end - 1] == 0x0D, !head[start..<end - 1].contains(0x0D) else {
                throw Refusal(status: 400)
            }
            lines.append(head[start..<end - 1])
            start = end + 1
        }
        guard start == head.endIndex, !lines.isEmpty else { throw Refusal(status: 400) }
        return lines
    }

    private func requestLine(
        _ line: ArraySlice<UInt8>
    ) throws(Refusal) -> (method: String, target: String, isLatest: Bool) {
        let parts = line.split(separator: 0x20, omittingEmptySubsequences: false)
        guard parts.count == 3, Self.isToken(parts[0]), parts[1].allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw Refusal(status: 400)
        }
        let method = String(decoding: parts[0], as: UTF8.self)
        guard parts[1].first == 0x2F || parts[1].elementsEqual("*".utf8) && method == "OPTIONS" else {
            throw Refusal(status: 400)
        }
        let isLatest = parts[2].elementsEqual("HTTP/1.1".utf8)
        guard isLatest || parts[2].elementsEqual("HTTP/1.0".utf8) else {
            throw Refusal(status: parts[2].starts(with: "HTTP/".utf8) ? 505 : 400)
        }
        return (method, String(decoding: parts[1], as: UTF8.self), isLatest)
    }

    /// A folded line begins with a space and so has no name (RFC 9112 §5.2: refused).
    private func field(_ line: ArraySlice<UInt8>) throws(Refusal) -> LoopbackHeaders.Field {
        guard let colon = line.firstIndex(of: 0x3A), Self.isToken(line[..<colon]) else { throw Refusal(status: 400) }
        var value = line[(colon + 1)...]
        while let first = value.first, first == 0x20 || first == 0x09 { value.removeFirst() }
        while let last = value.last, last == 0x20 || last == 0x09 { value.removeLast() }
        guard value.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else { throw Refusal(status: 400) }
        return LoopbackHeaders.Field(
            name: String(decoding: line[..<colon], as: UTF8.self),
            value: String(decoding: value, as: UTF8.self)
        )
    }

    private func bodyLength(_ headers: LoopbackHeaders) throws(Refusal) -> Int {
        let lengths = Set(headers.values(of: "Content-Length"))
        let codings = headers.values(of: "Transfer-Encoding")
        guard codings.isEmpty else {
            guard lengths.isEmpty else { throw Refusal(status: 400) }
            throw Refusal(status: codings.count == 1 && codings[0].lowercased() == "chunked" ? 411 : 501)
        }
        guard let text = lengths.first else { return 0 }
        guard lengths.count == 1, !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            throw Refusal(status: 400)
        }
        guard let length = Int(text), length <= limits.maximumBodyLength else { throw Refusal(status: 413) }
        return length
    }

    private static func isToken(_ bytes: ArraySlice<UInt8>) -> Bool {
        !bytes.isEmpty
            && bytes.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
                default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
                }
            }
    }
}
