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
        fileprivate var parser: HeadParser?
        /// The head, and the places where the body begins and ends.
        fileprivate var found: (head: MessageHead, body: Range<Int>)?
    }

    private let limits: LoopbackServer.Limits

    init(_ limits: LoopbackServer.Limits) {
        self.limits = limits
    }

    /// - Parameter progress: The value from the last call, for the same request with more bytes; begin with a new
    ///   value.
    func parse(_ input: [UInt8], _ progress: inout Progress) -> Step {
        do {
            if progress.found == nil { progress.found = try head(input, &progress) }
        } catch {
            return .refused(status: error.status)
        }
        guard let (head, body) = progress.found, case .request(let method, let target) = head.start,
            input.count >= body.upperBound
        else { return .incomplete }
        let fields = head.fields.map { LoopbackHeaders.Field(name: head.text($0.written), value: head.text($0.value)) }
        let headers = LoopbackHeaders(fields)
        let request = LoopbackRequest(method: method, target: target, headers: headers, body: Array(input[body]))
        let wish = headers.values(of: "Connection").joined(separator: ",").lowercased()
        return .complete(request, length: body.upperBound, keepsAlive: head.isLatest && !wish.contains("close"))
    }

    private func head(
        _ input: [UInt8],
        _ progress: inout Progress
    ) throws(MessageProblem) -> (head: MessageHead, body: Range<Int>)? {
        var parser = progress.parser ?? HeadParser(.request, headLimits)
        let found = try parser.parse(input.span)
        progress.parser = parser
        guard let (head, end) = found else { return nil }
        guard case .bytes(let length) = try head.requestLength() else { throw .unknownLength }
        guard length <= limits.maximumBodyLength else { throw .longBody }
        // A client that waits for a `100 Continue` sends the request again without the field (RFC 9110 §10.1.1).
        guard head.values(of: "expect").isEmpty else { throw .expectation }
        return (head, end..<end + length)
    }

    private var headLimits: HeadParser.Limits {
        var head = HeadParser.Limits()
        head.firstLine = limits.maximumRequestLineLength
        head.head = limits.maximumHeadLength
        return head
    }
}
