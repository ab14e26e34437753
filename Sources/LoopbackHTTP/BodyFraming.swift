// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Where a body ends, as its head says.
package enum BodyLength: Hashable, Sendable {
    /// After so many bytes; 0 if the message has no body.
    case bytes(Int)
    /// After the last chunk.
    case chunked
    /// Where the connection ends, which only an answer can.
    case untilClose
}

extension MessageHead {
    /// The end of a request's body.
    ///
    /// - SeeAlso: [RFC 9112 §6.3](https://www.rfc-editor.org/rfc/rfc9112#section-6.3)
    package func requestLength() throws(MessageProblem) -> BodyLength { try declaredLength() ?? .bytes(0) }

    /// The end of the body of an answer to a request with `method`.
    package func answerLength(to method: String) throws(MessageProblem) -> BodyLength {
        if case .answer(let status, _) = start,
            method == "HEAD" || (100..<200).contains(status) || [204, 304].contains(status)
        {
            return .bytes(0)
        }
        return try declaredLength() ?? .untilClose
    }

    private func declaredLength() throws(MessageProblem) -> BodyLength? {
        var lengths: [Range<Int>] = []
        var codings: [Range<Int>] = []
        for field in fields {
            if field.name == "content-length" { lengths.append(field.value) }
            if field.name == "transfer-encoding" { codings.append(field.value) }
        }
        if let coding = codings.first {
            guard lengths.isEmpty, isLatest else { throw .malformed }
            guard codings.count == 1, text(coding).lowercased() == "chunked" else { throw .coding }
            return .chunked
        }
        guard let place = lengths.first else { return nil }
        let digits = bytes[place]
        guard lengths.count == 1, !digits.isEmpty, digits.allSatisfy(\.isDigit) else {
            throw .malformed
        }
        guard let length = Int(text(place)) else { throw .longBody }
        return .bytes(length)
    }
}

/// Finds a body in bytes as they arrive, and its end.
///
/// Chunks are read strictly: no other software may find another end. Their extensions and the trailers are read over.
///
/// - SeeAlso: [RFC 9112 §7.1](https://www.rfc-editor.org/rfc/rfc9112#section-7.1)
package struct BodyFraming: Sendable {
    private enum State: Hashable, Sendable {
        /// Bytes of the body up to its end, or of a chunk.
        case content(left: Int, inChunk: Bool)
        case endless
        case size(Int, digits: Int)
        /// White space before an extension.
        case space(Int)
        case chunkExtension(Int, read: Int)
        case sizeEnd(Int)
        case chunkEnd(isHalf: Bool)
        case trailer(read: Int)
        case trailerName(read: Int)
        case trailerValue(read: Int)
        case trailerEnd(read: Int)
        case lastEnd
        case complete
    }

    /// A part of the given bytes that was read.
    package struct Piece: Hashable, Sendable {
        /// The place of bytes of the body; it may be empty.
        package let content: Range<Int>
        /// The number of bytes that were read.
        package let end: Int
    }

    private static let (longestExtension, longestTrailers) = (256, 8 * 1024)
    private var state: State

    package init(_ length: BodyLength) {
        state =
            switch length {
            case .bytes(0): .complete
            case .bytes(let count): .content(left: count, inChunk: false)
            case .chunked: .size(0, digits: 0)
            case .untilClose: .endless
            }
    }

    /// Whether the whole body was read.
    package var isComplete: Bool { state == .complete }

    /// Whether the end of the connection is the end of the body.
    package var endsWithConnection: Bool { state == .endless }

    /// Reads up to the end of the next bytes of the body, of the body itself, or of the given bytes.
    package mutating func next(in input: Span<UInt8>) throws(MessageProblem) -> Piece {
        var index = 0
        while index < input.count {
            switch state {
            case .complete:
                return Piece(content: index..<index, end: index)
            case .endless:
                return Piece(content: index..<input.count, end: input.count)
            case .content(let left, let inChunk):
                let count = min(left, input.count - index)
                if count < left {
                    state = .content(left: left - count, inChunk: inChunk)
                } else {
                    state = inChunk ? .chunkEnd(isHalf: false) : .complete
                }
                return Piece(content: index..<index + count, end: index + count)
            default:
                state = try state(after: input[index])
                index += 1
            }
        }
        return Piece(content: index..<index, end: index)
    }

    private func state(after byte: UInt8) throws(MessageProblem) -> State {
        let (isEnd, isSpace) = (byte == 0x0D, byte == 0x20 || byte == 0x09)
        switch state {
        case .size(let size, let digits):
            if let digit = Self.hexadecimal(byte) {
                guard digits < 8 else { throw .malformed }
                return .size(size << 4 | digit, digits: digits + 1)
            }
            guard digits > 0 else { throw .malformed }
            if isEnd { return .sizeEnd(size) }
            if byte == 0x3B { return .chunkExtension(size, read: 0) }
            if isSpace { return .space(size) }
        case .space(let size):
            if isSpace { return state }
            if byte == 0x3B { return .chunkExtension(size, read: 0) }
        case .chunkExtension(let size, let read):
            if isEnd { return .sizeEnd(size) }
            if byte.isFieldText, read < Self.longestExtension { return .chunkExtension(size, read: read + 1) }
        case .sizeEnd(let size):
            if byte == 0x0A { return size == 0 ? .trailer(read: 0) : .content(left: size, inChunk: true) }
        case .chunkEnd(let isHalf):
            if byte == (isHalf ? 0x0A : 0x0D) { return isHalf ? .size(0, digits: 0) : .chunkEnd(isHalf: true) }
        case .trailer(let read):
            if isEnd { return .lastEnd }
            if byte.isToken { return .trailerName(read: read + 1) }
        case .trailerName(let read):
            if byte == 0x3A { return .trailerValue(read: read + 1) }
            if byte.isToken, read < Self.longestTrailers { return .trailerName(read: read + 1) }
        case .trailerValue(let read):
            if isEnd { return .trailerEnd(read: read) }
            if byte.isFieldText, read < Self.longestTrailers { return .trailerValue(read: read + 1) }
        case .trailerEnd(let read):
            if byte == 0x0A { return .trailer(read: read) }
        case .lastEnd:
            if byte == 0x0A { return .complete }
        case .content, .endless, .complete: break
        }
        throw .malformed
    }

    private static func hexadecimal(_ byte: UInt8) -> Int? {
        switch byte {
        case 0x30...0x39: Int(byte - 0x30)
        case 0x41...0x46: Int(byte - 0x41 + 10)
        case 0x61...0x66: Int(byte - 0x61 + 10)
        default: nil
        }
    }
}
