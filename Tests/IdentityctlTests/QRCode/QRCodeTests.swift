// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Testing

@testable import identityctl

/// ISO/IEC 18004
@Suite struct QRCodeTests {
    /// The drawing of this address by `qrencode 4.1.1 -8 -l L -v 2 -m 0 -t ASCII`.
    private static let address = "https://id.example.test/device"
    private static let drawing = [
        "#######...##..##..#######",
        "#.....#.##.##.###.#.....#",
        "#.###.#.#...#.#...#.###.#",
        "#.###.#..#.#......#.###.#",
        "#.###.#.##.#..###.#.###.#",
        "#.....#.#.#.#..#..#.....#",
        "#######.#.#.#.#.#.#######",
        "........#.##...##........",
        "##.#..##....###...###.##.",
        "...###.#.#..###.###.....#",
        ".#######....##..###.#..##",
        ".####...#########..#.....",
        "#....###..#..#.##.#..#.##",
        ".##..#.###..#....###.##.#",
        "#.#..##...##..#....##.#.#",
        ".####...#..#####.##.#..#.",
        "##..#####.#.#...#######..",
        "........##.###.##...##..#",
        "#######.##..#####.#.##.##",
        "#.....#..#.##.#.#...#####",
        "#.###.#..#.####.######...",
        "#.###.#.#...####...####..",
        "#.###.#..##..#..#..##.#.#",
        "#.....#.#..####.##...#...",
        "#######.##.#########...##",
    ]

    private func drawing(_ code: QRCode) -> [String] {
        (0..<code.size).map { row in (0..<code.size).map { code[row, $0] ? "#" : "." }.joined() }
    }

    @Test func drawsWhatAnotherEncoderDraws() throws {
        let code = try #require(QRCode(Array(Self.address.utf8), mask: 7))
        #expect(code.version.number == 2 && code.level == .low)
        #expect(drawing(code) == Self.drawing)
    }

    /// The example of the specification's annex on error correction: `HELLO WORLD`, version 1, level M.
    @Test func correctsAsTheKnownExample() {
        let data: [UInt8] = [32, 91, 11, 120, 209, 114, 220, 77, 67, 64, 236, 17, 236, 17, 236, 17]
        let expected: [UInt8] = [196, 35, 39, 119, 235, 215, 231, 226, 93, 23]
        #expect(ReedSolomon(degree: 10).correction(of: data[...]) == expected)
    }

    @Test(arguments: [
        (14, 1, QRLevel.medium), (15, 1, .low), (17, 1, .low), (18, 2, .medium), (106, 5, .low), (107, 6, .low),
        (213, 9, .low), (230, 9, .low), (231, 10, .low), (271, 10, .low),
    ])
    func takesTheSmallestThatFits(_ count: Int, _ version: Int, _ level: QRLevel) throws {
        let code = try #require(QRCode([UInt8](repeating: 65, count: count)))
        #expect(code.version.number == version && code.level == level)
        #expect(code.size == 17 + 4 * version && code.modules.count == code.size * code.size)
    }

    @Test func refusesWhatDoesNotFit() {
        #expect(QRCode([UInt8](repeating: 65, count: 272)) == nil)
    }

    @Test func choosesTheMaskThatIsEasiestToRead() throws {
        let bytes = Array(Self.address.utf8)
        let chosen = try #require(QRCode(bytes))
        let penalties = (0..<8).map { mask in
            QRMatrix(
                chosen.version,
                chosen.level,
                mask: mask,
                codewords: QRCodewords.all(for: bytes, chosen.version, chosen.level)
            ).penalty
        }
        #expect(penalties[chosen.mask] == penalties.min() && Set(penalties).count > 1)
    }

    @Test func isShownWithALightFrameInHalfBlocks() throws {
        let code = try #require(QRCode(Array(Self.address.utf8), mask: 7))
        let lines = code.terminalLines()
        #expect(code.columns == 33 && lines.count == 17)
        let halves = lines.map { line in
            Array(line.drop { $0 != "m" }.dropFirst().prefix { $0 != "\u{1B}" })
        }
        for row in -4..<29 {
            for column in -4..<29 {
                let block = halves[(row + 4) / 2][column + 4]
                let isDark = (row + 4) % 2 == 0 ? "▄ ".contains(block) : "▀ ".contains(block)
                #expect(isDark == code[row, column], "\(row), \(column)")
            }
        }
        for line in lines { #expect(line.hasSuffix("\u{1B}[0m")) }
        #expect(code.terminalLines(isColored: false) == halves.map { String($0) })
    }
}
