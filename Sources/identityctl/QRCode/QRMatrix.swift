// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The drawing of a code.
struct QRMatrix {
    let size: Int
    /// Row by row; `true` is dark.
    private(set) var modules: [Bool]
    /// Whether each module is fixed, and so not data.
    private var isFixed: [Bool]

    init(_ version: QRVersion, _ level: QRLevel, mask: Int, codewords: [UInt8]) {
        size = version.size
        modules = [Bool](repeating: false, count: size * size)
        isFixed = modules
        drawTiming()
        drawAlignment(version)
        drawFinders()
        drawFormat(level, mask)
        drawVersion(version)
        draw(codewords, mask)
    }

    private mutating func fix(_ row: Int, _ column: Int, _ isDark: Bool) {
        modules[row * size + column] = isDark
        isFixed[row * size + column] = true
    }

    private mutating func drawTiming() {
        for index in 0..<size {
            fix(6, index, index % 2 == 0)
            fix(index, 6, index % 2 == 0)
        }
    }

    private mutating func drawFinders() {
        for (row, column) in [(3, 3), (3, size - 4), (size - 4, 3)] {
            for down in -4...4 {
                for across in -4...4
                where (0..<size).contains(row + down) && (0..<size).contains(column + across) {
                    let ring = max(abs(down), abs(across))
                    fix(row + down, column + across, ring != 2 && ring != 4)
                }
            }
        }
    }

    private mutating func drawAlignment(_ version: QRVersion) {
        let last = version.alignment.last ?? 0
        for row in version.alignment {
            for column in version.alignment {
                // Three of the corners have finders.
                if (row, column) == (6, 6) || (row, column) == (6, last) || (row, column) == (last, 6) { continue }
                for down in -2...2 {
                    for across in -2...2 { fix(row + down, column + across, max(abs(down), abs(across)) != 1) }
                }
            }
        }
    }

    /// Draws the level and the mask, twice.
    private mutating func drawFormat(_ level: QRLevel, _ mask: Int) {
        let data = level.bits << 3 | mask
        let bits = (data << 10 | Self.remainder(of: data, by: 0x537, degree: 10)) ^ 0x5412
        func isDark(_ index: Int) -> Bool { bits >> index & 1 == 1 }
        for index in 0..<6 { fix(index, 8, isDark(index)) }
        fix(7, 8, isDark(6))
        fix(8, 8, isDark(7))
        fix(8, 7, isDark(8))
        for index in 9..<15 { fix(8, 14 - index, isDark(index)) }
        for index in 0..<8 { fix(8, size - 1 - index, isDark(index)) }
        for index in 8..<15 { fix(size - 15 + index, 8, isDark(index)) }
        fix(size - 8, 8, true)
    }

    /// Draws the version, twice. Small versions have none.
    private mutating func drawVersion(_ version: QRVersion) {
        guard version.number >= 7 else { return }
        let bits = version.number << 12 | Self.remainder(of: version.number, by: 0x1F25, degree: 12)
        for index in 0..<18 {
            let isDark = bits >> index & 1 == 1
            fix(size - 11 + index % 3, index / 3, isDark)
            fix(index / 3, size - 11 + index % 3, isDark)
        }
    }

    /// Returns the remainder of `data`, shifted left by `degree` bits, divided by a polynomial over two elements.
    private static func remainder(of data: Int, by generator: Int, degree: Int) -> Int {
        var rest = data
        for _ in 0..<degree { rest = rest << 1 ^ (rest >> (degree - 1)) * generator }
        return rest
    }

    /// Draws the code words in columns two modules wide, from the right, alternately up and down.
    private mutating func draw(_ codewords: [UInt8], _ mask: Int) {
        var index = 0
        var right = size - 1
        while right > 0 {
            if right == 6 { right -= 1 }  // the timing pattern
            let goesUp = (right + 1) & 2 == 0
            for step in 0..<size {
                let row = goesUp ? size - 1 - step : step
                for column in [right, right - 1] where !isFixed[row * size + column] {
                    let bit = index < codewords.count * 8 && codewords[index / 8] >> UInt8(7 - index % 8) & 1 == 1
                    modules[row * size + column] = bit != Self.isCovered(row, column, by: mask)
                    index += 1
                }
            }
            right -= 2
        }
    }

    private static func isCovered(_ row: Int, _ column: Int, by mask: Int) -> Bool {
        switch mask {
        case 0: (row + column) % 2 == 0
        case 1: row % 2 == 0
        case 2: column % 3 == 0
        case 3: (row + column) % 3 == 0
        case 4: (row / 2 + column / 3) % 2 == 0
        case 5: row * column % 2 + row * column % 3 == 0
        case 6: (row * column % 2 + row * column % 3) % 2 == 0
        default: ((row + column) % 2 + row * column % 3) % 2 == 0
        }
    }
}

// Scores for how hard a code is to read.
extension QRMatrix {
    var penalty: Int {
        var penalty = 0
        for first in 0..<size {
            penalty += Self.penalty(ofLine: (0..<size).map { modules[first * size + $0] })
            penalty += Self.penalty(ofLine: (0..<size).map { modules[$0 * size + first] })
        }
        for row in 0..<size - 1 {
            for column in 0..<size - 1 {
                let start = row * size + column
                let colour = modules[start]
                let isBlock = [start + 1, start + size, start + size + 1].allSatisfy { modules[$0] == colour }
                if isBlock { penalty += 3 }
            }
        }
        let dark = modules.filter(\.self).count
        return penalty + abs(dark * 20 - modules.count * 10) / modules.count * 10
    }

    /// Returns the penalty for five or more modules of one color in a row, and for modules that look like a finder.
    private static func penalty(ofLine line: [Bool]) -> Int {
        var penalty = 0
        var length = 0
        for (index, module) in line.enumerated() {
            length = index > 0 && line[index - 1] == module ? length + 1 : 1
            if length == 5 { penalty += 3 } else if length > 5 { penalty += 1 }
        }
        let finder = [true, false, true, true, true, false, true]
        for start in 0...line.count - 7 where line[start..<start + 7].elementsEqual(finder) {
            let before = line[max(0, start - 4)..<start]
            let after = line[start + 7..<min(line.count, start + 11)]
            if !before.contains(true) || !after.contains(true) { penalty += 40 }
        }
        return penalty
    }
}
