// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The size of a code, and how its bytes are divided.
struct QRVersion: Hashable, Sendable {
    let number: Int
    /// Bytes of data and correction together.
    let codewords: Int
    /// The positions of the centers of the alignment patterns, across and down.
    let alignment: [Int]
    private let low: Blocks
    private let medium: Blocks

    private struct Blocks: Hashable, Sendable {
        var count: Int
        var correction: Int
    }

    /// The number of modules on a side.
    var size: Int { 17 + 4 * number }

    func blockCount(_ level: QRLevel) -> Int { blocks(level).count }

    /// Bytes of correction in each block.
    func correction(_ level: QRLevel) -> Int { blocks(level).correction }

    /// Bytes of data.
    func data(_ level: QRLevel) -> Int { codewords - blocks(level).count * blocks(level).correction }

    /// The number of bits in the byte count that precedes the bytes.
    var countBits: Int { number < 10 ? 8 : 16 }

    /// Returns the number of bytes that fit in.
    func capacity(_ level: QRLevel) -> Int { (data(level) * 8 - 4 - countBits) / 8 }

    private func blocks(_ level: QRLevel) -> Blocks {
        switch level {
        case .low: low
        case .medium: medium
        }
    }

    private init(_ number: Int, _ codewords: Int, low: (Int, Int), medium: (Int, Int), _ alignment: [Int] = []) {
        self.number = number
        self.codewords = codewords
        self.low = Blocks(count: low.0, correction: low.1)
        self.medium = Blocks(count: medium.0, correction: medium.1)
        self.alignment = alignment
    }

    static let all = [
        QRVersion(1, 26, low: (1, 7), medium: (1, 10)),
        QRVersion(2, 44, low: (1, 10), medium: (1, 16), [6, 18]),
        QRVersion(3, 70, low: (1, 15), medium: (1, 26), [6, 22]),
        QRVersion(4, 100, low: (1, 20), medium: (2, 18), [6, 26]),
        QRVersion(5, 134, low: (1, 26), medium: (2, 24), [6, 30]),
        QRVersion(6, 172, low: (2, 18), medium: (4, 16), [6, 34]),
        QRVersion(7, 196, low: (2, 20), medium: (4, 18), [6, 22, 38]),
        QRVersion(8, 242, low: (2, 24), medium: (4, 22), [6, 24, 42]),
        QRVersion(9, 292, low: (2, 30), medium: (5, 22), [6, 26, 46]),
        QRVersion(10, 346, low: (4, 18), medium: (5, 26), [6, 28, 50]),
    ]
}
