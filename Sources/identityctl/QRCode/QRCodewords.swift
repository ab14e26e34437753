// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The bytes of a code: the data, divided into blocks, each with its correction.
enum QRCodewords {
    /// All codewords in the order they are drawn.
    static func all(for bytes: [UInt8], _ version: QRVersion, _ level: QRLevel) -> [UInt8] {
        let data = data(for: bytes, version, level)
        let count = version.blockCount(level)
        var blocks: [ArraySlice<UInt8>] = []
        var rest = data[...]
        for index in 0..<count {
            // The longer blocks come last.
            let length = data.count / count + (index >= count - data.count % count ? 1 : 0)
            blocks.append(rest.prefix(length))
            rest = rest.dropFirst(length)
        }
        let field = ReedSolomon(degree: version.correction(level))
        let corrections = blocks.map { field.correction(of: $0) }
        return interleaved(blocks) + interleaved(corrections.map { $0[...] })
    }

    /// Returns the mode, the number of bytes, the bytes, and the padding.
    private static func data(for bytes: [UInt8], _ version: QRVersion, _ level: QRLevel) -> [UInt8] {
        let capacity = version.data(level)
        var bits = BitString()
        bits.append(0b0100, count: 4)
        bits.append(bytes.count, count: version.countBits)
        for byte in bytes { bits.append(Int(byte), count: 8) }
        bits.append(0, count: min(4, capacity * 8 - bits.count))
        bits.append(0, count: (8 - bits.count % 8) % 8)
        var padding: UInt8 = 0xEC
        while bits.bytes.count < capacity {
            bits.append(Int(padding), count: 8)
            padding ^= 0xEC ^ 0x11
        }
        return bits.bytes
    }

    /// Returns the first bytes of all blocks, then the second bytes of all blocks, and so on.
    private static func interleaved(_ blocks: [ArraySlice<UInt8>]) -> [UInt8] {
        let longest = blocks.map(\.count).max() ?? 0
        return (0..<longest).flatMap { index in
            blocks.compactMap { index < $0.count ? $0[$0.startIndex + index] : nil }
        }
    }
}

/// Bits, the most significant first.
private struct BitString {
    private(set) var bytes: [UInt8] = []
    private(set) var count = 0

    mutating func append(_ value: Int, count added: Int) {
        for shift in stride(from: added - 1, through: 0, by: -1) {
            if count % 8 == 0 { bytes.append(0) }
            bytes[count / 8] |= UInt8(value >> shift & 1) << (7 - count % 8)
            count += 1
        }
    }
}

/// Correction by Reed and Solomon over the field of 256 elements that QR codes use.
struct ReedSolomon {
    /// The generator's coefficients without the leading 1, the highest power first.
    private let generator: [UInt8]

    init(degree: Int) {
        var generator = [UInt8](repeating: 0, count: degree)
        generator[degree - 1] = 1
        var root: UInt8 = 1
        for _ in 0..<degree {
            // Times (x - root).
            for index in generator.indices {
                generator[index] = Self.product(generator[index], root)
                if index + 1 < degree { generator[index] ^= generator[index + 1] }
            }
            root = Self.product(root, 2)
        }
        self.generator = generator
    }

    /// Returns the remainder of the data, as a polynomial, divided by the generator.
    func correction(of data: ArraySlice<UInt8>) -> [UInt8] {
        var rest = [UInt8](repeating: 0, count: generator.count)
        for byte in data {
            let factor = byte ^ rest.removeFirst()
            rest.append(0)
            for index in rest.indices { rest[index] ^= Self.product(generator[index], factor) }
        }
        return rest
    }

    /// Returns the product modulo x⁸ + x⁴ + x³ + x² + 1.
    static func product(_ first: UInt8, _ second: UInt8) -> UInt8 {
        var result = 0
        for shift in stride(from: 7, through: 0, by: -1) {
            result = result << 1 ^ (result >> 7) * 0x11D
            result ^= Int(second >> UInt8(shift) & 1) * Int(first)
        }
        return UInt8(result)
    }
}
