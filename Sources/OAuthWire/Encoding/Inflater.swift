// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Decompresses what a server compressed although it was not asked to.
///
/// Checksums are not compared: TLS has protected the bytes, and each reader checks what comes out.
/// - SeeAlso: [RFC 1951](https://www.rfc-editor.org/rfc/rfc1951), [RFC 1950](https://www.rfc-editor.org/rfc/rfc1950),
///   [RFC 1952](https://www.rfc-editor.org/rfc/rfc1952)
package struct Inflater: Sendable {
    package enum Failure: Error, Hashable, Sendable {
        /// More than the limit comes out.
        case tooLarge
        /// The bytes are not in this format, or end early.
        case damaged
    }

    private let input: [UInt8]
    private let limit: Int
    private var position = 0
    /// Bits that were read and not yet used; the next one is the lowest.
    private var bits: UInt32 = 0
    private var bitCount = 0
    private var output: [UInt8] = []

    private init(_ input: [UInt8], limit: Int) {
        self.input = input
        self.limit = limit
    }

    /// Whether the bytes begin like those of gzip with its only method. No text does.
    package static func isGzip(_ bytes: some Sequence<UInt8>) -> Bool { bytes.starts(with: [0x1F, 0x8B, 8]) }

    /// Decompresses gzip, or else `deflate`.
    ///
    /// - Parameter limit: The most bytes that come out.
    /// - Returns: The bytes that came out, also before a failure.
    package static func decompressed(_ input: [UInt8], limit: Int) -> (output: [UInt8], failure: Failure?) {
        var inflater = Inflater(input, limit: limit)
        do {
            if isGzip(input) { try inflater.gunzip() } else { try inflater.inflateZlib() }
        } catch { return (inflater.output, error) }
        return (inflater.output, nil)
    }

    /// Decompresses the members of a gzip file, one after the other. Bytes after them are ignored.
    private mutating func gunzip() throws(Failure) {
        repeat {
            try skipGzipHeader()
            try inflate()
            position += 8  // the checksum and the length
        } while position < input.count && Self.isGzip(input[position...])
    }

    /// Decompresses `deflate`, as HTTP calls zlib's format.
    ///
    /// Deviation: some servers leave zlib's two bytes out.
    /// - SeeAlso: [RFC 9110 §8.4.1.2](https://www.rfc-editor.org/rfc/rfc9110#section-8.4.1.2)
    private mutating func inflateZlib() throws(Failure) {
        let start = input.prefix(2).map { UInt32($0) }
        let isZlib = start.count == 2 && start[0] & 0xF == 8 && (start[0] << 8 | start[1]) % 31 == 0
        position = isZlib ? 2 : 0
        try inflate()
    }

    private mutating func skipGzipHeader() throws(Failure) {
        guard Self.isGzip(input[position...]), input.count - position >= 10 else { throw .damaged }
        let flags = input[position + 3]
        position += 10
        if flags & 4 != 0 {
            guard input.count - position >= 2 else { throw .damaged }
            position += 2 + Int(input[position]) + Int(input[position + 1]) << 8
        }
        for flag: UInt8 in [8, 16] where flags & flag != 0 {  // a name, and a comment
            guard position < input.count, let end = input[position...].firstIndex(of: 0) else { throw .damaged }
            position = end + 1
        }
        if flags & 2 != 0 { position += 2 }
        guard position <= input.count else { throw .damaged }
    }
}

// The blocks.
extension Inflater {
    private mutating func inflate() throws(Failure) {
        (bits, bitCount) = (0, 0)
        var isLast = false
        while !isLast {
            isLast = try take(1) == 1
            switch try take(2) {
            case 0: try copyStored()
            case 1: try decode(Self.fixedLiterals, Self.fixedDistances)
            case 2:
                let (literals, distances) = try readCodes()
                try decode(literals, distances)
            default: throw .damaged
            }
        }
    }

    private mutating func copyStored() throws(Failure) {
        (bits, bitCount) = (0, 0)
        guard input.count - position >= 4 else { throw .damaged }
        let length = Int(input[position]) | Int(input[position + 1]) << 8
        let complement = Int(input[position + 2]) | Int(input[position + 3]) << 8
        position += 4
        guard length == complement ^ 0xFFFF else { throw .damaged }
        let stored = input[position...].prefix(length)
        guard output.count + stored.count <= limit else { throw .tooLarge }
        output += stored
        position += stored.count
        guard stored.count == length else { throw .damaged }
    }

    private mutating func decode(_ literals: PrefixCode, _ distances: PrefixCode) throws(Failure) {
        while true {
            let symbol = try next(literals)
            if symbol < 256 {
                guard output.count < limit else { throw .tooLarge }
                output.append(UInt8(symbol))
                continue
            }
            if symbol == 256 { return }
            guard symbol - 257 < Self.lengths.count else { throw .damaged }
            let (base, extra) = Self.lengths[symbol - 257]
            let length = base + (try take(extra))
            let distanceSymbol = try next(distances)
            guard distanceSymbol < Self.distances.count else { throw .damaged }
            let (distanceBase, distanceExtra) = Self.distances[distanceSymbol]
            let distance = distanceBase + (try take(distanceExtra))
            guard distance <= output.count else { throw .damaged }
            guard output.count + length <= limit else { throw .tooLarge }
            // The bytes may overlap: those that are copied first are copied again.
            for _ in 0..<length { output.append(output[output.count - distance]) }
        }
    }

    /// Reads the two codes of a block. Their lengths are themselves compressed.
    private mutating func readCodes() throws(Failure) -> (PrefixCode, PrefixCode) {
        let (literalCount, distanceCount) = (257 + (try take(5)), 1 + (try take(5)))
        let count = 4 + (try take(4))
        guard literalCount <= 286, distanceCount <= 30 else { throw .damaged }
        var lengthLengths = [Int](repeating: 0, count: 19)
        for place in Self.lengthOrder.prefix(count) { lengthLengths[place] = try take(3) }
        guard let lengthCode = PrefixCode(lengthLengths) else { throw .damaged }
        var lengths: [Int] = []
        while lengths.count < literalCount + distanceCount {
            switch try next(lengthCode) {
            case 16:
                guard let last = lengths.last else { throw .damaged }
                lengths += [Int](repeating: last, count: 3 + (try take(2)))
            case 17: lengths += [Int](repeating: 0, count: 3 + (try take(3)))
            case 18: lengths += [Int](repeating: 0, count: 11 + (try take(7)))
            case let length: lengths.append(length)
            }
        }
        guard lengths.count == literalCount + distanceCount,
            let literals = PrefixCode(Array(lengths[..<literalCount])),
            let distances = PrefixCode(Array(lengths[literalCount...]))
        else { throw .damaged }
        return (literals, distances)
    }

    /// Returns the next bits as a number, at most 13.
    private mutating func take(_ count: Int) throws(Failure) -> Int {
        while bitCount < count {
            guard position < input.count else { throw .damaged }
            bits |= UInt32(input[position]) << UInt32(bitCount)
            bitCount += 8
            position += 1
        }
        let value = bits & (1 << UInt32(count) - 1)
        bits >>= UInt32(count)
        bitCount -= count
        return Int(value)
    }

    private mutating func next(_ code: PrefixCode) throws(Failure) -> Int {
        var (word, first, index) = (0, 0, 0)
        for count in code.counts {
            word |= try take(1)
            if word - first < count { return code.symbols[index + word - first] }
            index += count
            first = (first + count) << 1
            word <<= 1
        }
        throw .damaged
    }
}

// The tables of the specification.
extension Inflater {
    /// A canonical prefix code, by the lengths of its words.
    /// - SeeAlso: [RFC 1951 §3.2.2](https://www.rfc-editor.org/rfc/rfc1951#section-3.2.2)
    private struct PrefixCode: Sendable {
        /// The number of words of 1 bit, of 2 bits, and so on.
        var counts = [Int](repeating: 0, count: 15)
        /// The symbols in the order of their words.
        var symbols: [Int]

        /// - Parameter lengths: The length of each symbol's word, 0 for a symbol that is not used.
        /// - Returns: `nil` if there are more words than these lengths have room for.
        init?(_ lengths: [Int]) {
            for length in lengths where length > 0 { counts[length - 1] += 1 }
            var room = 1
            for count in counts {
                room = room * 2 - count
                guard room >= 0 else { return nil }
            }
            symbols = lengths.indices.filter { lengths[$0] > 0 }
                .sorted { (lengths[$0], $0) < (lengths[$1], $1) }
        }

        fileprivate init(fixed lengths: [Int]) {
            symbols = []
            if let code = PrefixCode(lengths) { self = code }
        }
    }

    private static let fixedLiterals = PrefixCode(
        fixed: (0..<288).map { $0 < 144 ? 8 : $0 < 256 ? 9 : $0 < 280 ? 7 : 8 }
    )
    private static let fixedDistances = PrefixCode(fixed: [Int](repeating: 5, count: 30))

    private static let lengthOrder = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15]

    /// For each symbol the smallest value, and how many bits are added to it.
    private static let lengths = steps(from: 3, bits: [0] + Array(0...5), each: 4) + [(258, 0)]
    private static let distances = steps(from: 1, bits: [0] + Array(0...13), each: 2)

    /// The rows of a table in which each number of bits stands for as many symbols.
    private static func steps(from start: Int, bits: [Int], each: Int) -> [(Int, Int)] {
        var (rows, value): ([(Int, Int)], Int) = ([], start)
        for bits in bits {
            for _ in 0..<each {
                rows.append((value, bits))
                value += 1 << bits
            }
        }
        return rows
    }
}
