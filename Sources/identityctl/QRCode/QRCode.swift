// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// A QR code: a square of dark and light modules that a camera reads as bytes.
///
/// Model 2, byte mode, versions 1 to 10, error correction levels L and M: enough for an address.
/// - SeeAlso: ISO/IEC 18004
struct QRCode: Hashable, Sendable {
    let version: QRVersion
    let level: QRLevel
    /// The number of the pattern, of eight, that covers the data.
    let mask: Int
    /// Row by row; `true` is dark.
    private(set) var modules: [Bool]

    /// Modules on a side.
    var size: Int { version.size }

    /// Creates the smallest code for `bytes`, with the better correction if both fit; `nil` for more than 271 bytes.
    ///
    /// - Parameter mask: A number from 0 to 7, or `nil` for the mask that is easiest to read.
    init?(_ bytes: [UInt8], mask: Int? = nil) {
        for version in QRVersion.all {
            for level in [QRLevel.medium, .low] where bytes.count <= version.capacity(level) {
                self.init(bytes, version, level, mask)
                return
            }
        }
        return nil
    }

    private init(_ bytes: [UInt8], _ version: QRVersion, _ level: QRLevel, _ mask: Int?) {
        let codewords = QRCodewords.all(for: bytes, version, level)
        let matrices = (mask.map { [$0] } ?? Array(0..<8)).map { mask in
            (mask, QRMatrix(version, level, mask: mask, codewords: codewords))
        }
        let best = matrices.dropFirst().reduce(matrices[0]) { best, next in
            next.1.penalty < best.1.penalty ? next : best
        }
        self.version = version
        self.level = level
        self.mask = best.0
        modules = best.1.modules
    }

    /// Whether the module is dark; all around the code is light.
    subscript(row: Int, column: Int) -> Bool {
        guard (0..<size).contains(row), (0..<size).contains(column) else { return false }
        return modules[row * size + column]
    }
}

/// How much of a code may be unreadable: 7 % or 15 %.
enum QRLevel: Hashable, Sendable {
    case low, medium

    /// The bits for the level in the code.
    var bits: Int {
        switch self {
        case .low: 0b01
        case .medium: 0b00
        }
    }
}
