// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Why a message is refused. Afterwards its connection has no known beginning of another message, and is closed.
package enum MessageProblem: Error, Hashable, Sendable {
    /// The message is not written as the standard wants it, or could be read in two ways.
    case malformed
    /// The method asks for another protocol, or for a tunnel.
    case method
    /// The reader wants to know the body's length before.
    case unknownLength
    /// The body is longer than the limit, or than can be counted.
    case longBody
    /// The first line is longer than the limit.
    case longTarget
    /// The sender expects something of the reader that it does not do.
    case expectation
    /// The head has more bytes or lines than the limit.
    case longHead
    /// The body has a coding other than `chunked`.
    case coding
    /// The version is another than 1.0 and 1.1.
    case version

    /// The status for the sender of a request.
    package var status: Int {
        switch self {
        case .malformed: 400
        case .method: 405
        case .unknownLength: 411
        case .longBody: 413
        case .longTarget: 414
        case .expectation: 417
        case .longHead: 431
        case .coding: 501
        case .version: 505
        }
    }
}

/// The head of a request or an answer, as it arrived.
package struct MessageHead: Sendable {
    /// One line after the first.
    package struct Field: Sendable {
        /// The name in lower case.
        package let name: String
        /// The place of the name as written.
        package let written: Range<Int>
        /// The place of the value, without the white space around it.
        package let value: Range<Int>
    }

    /// The first line.
    package enum Start: Hashable, Sendable {
        /// The target is a path with its query, or `*` of `OPTIONS`.
        case request(method: String, target: String)
        /// The place of the reason may be empty.
        case answer(status: Int, reason: Range<Int>)
    }

    package let start: Start
    /// Whether the version is 1.1, and not 1.0.
    package let isLatest: Bool
    /// All bytes, in which the places are.
    package let bytes: [UInt8]
    package let fields: [Field]

    /// The bytes at a place as text.
    package func text(_ place: Range<Int>) -> String { String(decoding: bytes[place], as: UTF8.self) }

    /// The values of all fields with a name in lower case, in order.
    package func values(of name: String) -> [String] {
        fields.lazy.filter { $0.name == name }.map { text($0.value) }
    }

    /// The words of a list in all fields with a name, in lower case and without white space.
    package func words(of name: String) -> [String] {
        var words: [String] = []
        for field in fields where field.name == name {
            for part in bytes[field.value].split(separator: 0x2C) {
                let word = part.drop { $0 == 0x20 || $0 == 0x09 }.prefix { $0 != 0x20 && $0 != 0x09 }
                words.append(Self.lowercased(word))
            }
        }
        return words
    }

    fileprivate static func lowercased(_ text: ArraySlice<UInt8>) -> String {
        unsafe String(unsafeUninitializedCapacity: text.count) { room in
            for (index, byte) in text.enumerated() {
                unsafe room.initializeElement(at: index, to: (0x41...0x5A).contains(byte) ? byte | 0x20 : byte)
            }
            return text.count
        }
    }
}

/// Reads the head of a message from bytes as they arrive, once each. It refuses whatever other software could read in another
/// way, as soon as it sees it.
///
/// - SeeAlso: [RFC 9112](https://www.rfc-editor.org/rfc/rfc9112) §2 to §5
package struct HeadParser: Sendable {
    package enum Kind: Sendable { case request, answer }

    /// The most that a head may have.
    package struct Limits: Sendable {
        /// Bytes of the first line with its end.
        package var firstLine = 16 * 1024
        /// Bytes of all lines.
        package var head = 64 * 1024
        /// Lines after the first.
        package var fields = 100

        package init() {}
    }

    private let kind: Kind
    private let limits: Limits
    /// The bytes that were read.
    private var read = 0
    /// The first byte of the first line, and of the line that arrives.
    private var (begin, line) = (0, 0)
    /// The places of the lines that have arrived, without their ends.
    private var lines: [Range<Int>] = []

    package init(_ kind: Kind, _ limits: Limits = Limits()) {
        self.kind = kind
        self.limits = limits
    }

    /// - Parameter input: All bytes of the message that have arrived: those of the last call, and maybe more.
    /// - Returns: The head and its length; `nil` if bytes are missing.
    package mutating func parse(_ input: Span<UInt8>) throws(MessageProblem) -> (head: MessageHead, length: Int)? {
        var index = read
        scan: while index < input.count {
            let byte = input[index]
            if byte.isFieldText {
                index += 1
                continue
            }
            guard byte == 0x0D else { throw .malformed }
            guard index + 1 < input.count else { break scan }
            guard input[index + 1] == 0x0A else { throw .malformed }
            let place = line..<index
            index += 2
            line = index
            if place.isEmpty {
                guard lines.isEmpty else { return try finish(input, length: index) }
                // RFC 9112 §2.2: an empty line before the request line is skipped.
                guard kind == .request, begin == 0 else { throw .malformed }
                begin = index
            } else {
                guard !lines.isEmpty || place.count + 2 <= limits.firstLine else { throw .longTarget }
                lines.append(place)
                guard lines.count <= limits.fields + 1 else { throw .longHead }
            }
        }
        read = index
        guard !lines.isEmpty || input.count - begin < limits.firstLine else { throw .longTarget }
        guard input.count - begin < limits.head else { throw .longHead }
        return nil
    }

    private func finish(_ input: Span<UInt8>, length: Int) throws(MessageProblem) -> (head: MessageHead, length: Int) {
        guard length - begin <= limits.head else { throw .longHead }
        let bytes = unsafe input.extracting(begin..<length).withUnsafeBytes { unsafe Array($0) }
        let first = lines[0].lowerBound - begin..<lines[0].upperBound - begin
        let (start, isLatest) = kind == .request ? try request(bytes, first) : try answer(bytes, first)
        var fields: [MessageHead.Field] = []
        fields.reserveCapacity(lines.count - 1)
        for place in lines.dropFirst() {
            fields.append(try field(bytes, place.lowerBound - begin..<place.upperBound - begin))
        }
        let head = MessageHead(start: start, isLatest: isLatest, bytes: bytes, fields: fields)
        let hosts = kind == .request ? fields.lazy.filter { $0.name == "host" }.count : 1
        guard hosts == 1 || hosts == 0 && !isLatest else { throw .malformed }
        return (head, length)
    }

    private func request(
        _ bytes: [UInt8],
        _ line: Range<Int>
    ) throws(MessageProblem) -> (MessageHead.Start, isLatest: Bool) {
        let line = bytes[line]
        guard let one = line.firstIndex(of: 0x20), let two = line[(one + 1)...].firstIndex(of: 0x20) else {
            throw .malformed
        }
        let (name, target, version) = (line[..<one], line[(one + 1)..<two], line[(two + 1)...])
        guard Self.isToken(name), Self.areVisible(target) else { throw .malformed }
        let method = String(decoding: name, as: UTF8.self)
        guard method != "CONNECT" else { throw .method }
        guard target.first == 0x2F || target.elementsEqual("*".utf8) && method == "OPTIONS" else { throw .malformed }
        let isLatest = version.elementsEqual("HTTP/1.1".utf8)
        guard isLatest || version.elementsEqual("HTTP/1.0".utf8) else {
            // A space more makes no version.
            throw version.starts(with: "HTTP/".utf8) && !version.contains(0x20) ? .version : .malformed
        }
        return (.request(method: method, target: String(decoding: target, as: UTF8.self)), isLatest)
    }

    /// The space and the reason may be missing.
    private func answer(
        _ bytes: [UInt8],
        _ line: Range<Int>
    ) throws(MessageProblem) -> (MessageHead.Start, isLatest: Bool) {
        let text = bytes[line]
        let isLatest = text.starts(with: "HTTP/1.1 ".utf8)
        guard isLatest || text.starts(with: "HTTP/1.0 ".utf8) else { throw .version }
        let digits = text.dropFirst(9).prefix(3)
        let rest = text.dropFirst(12)
        guard digits.count == 3, digits.allSatisfy(\.isDigit), digits.first != 0x30,
            rest.isEmpty || rest.first == 0x20
        else { throw .malformed }
        let status = digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
        return (.answer(status: status, reason: min(rest.startIndex + 1, line.upperBound)..<line.upperBound), isLatest)
    }

    /// A folded line begins with a space and so has no name (RFC 9112 §5.2: refused).
    private func field(_ bytes: [UInt8], _ line: Range<Int>) throws(MessageProblem) -> MessageHead.Field {
        guard let colon = bytes[line].firstIndex(of: 0x3A), Self.isToken(bytes[line.lowerBound..<colon]) else {
            throw .malformed
        }
        var value = colon + 1..<line.upperBound
        while let first = value.first, bytes[first] == 0x20 || bytes[first] == 0x09 { value.removeFirst() }
        while let last = value.last, bytes[last] == 0x20 || bytes[last] == 0x09 { value.removeLast() }
        let name = MessageHead.lowercased(bytes[line.lowerBound..<colon])
        return MessageHead.Field(name: name, written: line.lowerBound..<colon, value: value)
    }

    private static func isToken(_ bytes: ArraySlice<UInt8>) -> Bool { !bytes.isEmpty && bytes.allSatisfy(\.isToken) }

    /// Whether all are visible signs of ASCII, as in a target and in a token. `OAuthWire` has the rule for its own texts: this
    /// target stands beside it.
    package static func areVisible(_ bytes: some Sequence<UInt8>) -> Bool {
        bytes.allSatisfy { (0x21...0x7E).contains($0) }
    }
}

extension UInt8 {
    /// Whether a field's value, a reason or an extension of a chunk can hold it.
    /// - SeeAlso: [RFC 9110 §5.5](https://www.rfc-editor.org/rfc/rfc9110#section-5.5)
    var isFieldText: Bool { self >= 0x20 && self != 0x7F || self == 0x09 }

    /// Whether it is a decimal digit.
    var isDigit: Bool { (0x30...0x39).contains(self) }

    /// Whether it may stand in a name or a method.
    /// - SeeAlso: [RFC 9110 §5.6.2](https://www.rfc-editor.org/rfc/rfc9110#section-5.6.2)
    var isToken: Bool {
        switch self {
        case 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x41...0x5A, 0x5E...0x7A, 0x7C, 0x7E: true
        default: isDigit
        }
    }
}
