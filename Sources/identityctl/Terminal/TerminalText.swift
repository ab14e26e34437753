// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Received bytes as text that a terminal shows and does not obey.
///
/// Tabs and line ends stay. Other control characters, and characters that hide or reorder text, become `\uXXXX`.
struct TerminalText {
    /// The beginning of a character, or of a line end, whose rest has not arrived.
    private var rest: [UInt8] = []

    init() {}

    /// Returns the text of `bytes` and of earlier bytes that can be shown now.
    mutating func text(_ bytes: [UInt8]) -> String {
        rest += bytes
        let complete = rest.count - Self.unfinished(rest)
        defer { rest.removeFirst(complete) }
        return Self.shown(rest[..<complete])
    }

    /// Returns the rest of the text when no more bytes arrive.
    mutating func end() -> String {
        defer { rest = [] }
        return Self.shown(rest[...])
    }

    private static func shown(_ bytes: ArraySlice<UInt8>) -> String {
        String(decoding: bytes, as: UTF8.self).split(separator: "\r\n" as Character, omittingEmptySubsequences: false)
            .map { line in
                line.unicodeScalars.map { $0 == "\n" || $0 == "\t" ? String($0) : String($0).printableJSON }.joined()
            }
            .joined(separator: "\n")
    }

    /// Returns the number of bytes at the end that are incomplete.
    private static func unfinished(_ bytes: [UInt8]) -> Int {
        if bytes.last == UInt8(ascii: "\r") { return 1 }
        for (index, byte) in bytes.suffix(3).reversed().enumerated() where byte & 0xC0 != 0x80 {
            let length =
                switch byte {
                case 0xC2...0xDF: 2
                case 0xE0...0xEF: 3
                case 0xF0...0xF4: 4
                default: 1
                }
            return length > index + 1 ? index + 1 : 0
        }
        return 0
    }
}

/// An answer's bytes as they are or, on a terminal, as text.
struct AnswerOutput {
    private var text: TerminalText?
    private let put: @Sendable ([UInt8]) throws -> Void

    /// Standard output.
    init(isTerminal: Bool = StandardStream.output.isTerminal) {
        text = isTerminal ? TerminalText() : nil
        put = { try StandardStream.output.write($0) }
    }

    /// A terminal that is named by its path.
    init(to terminal: TerminalFile) {
        text = TerminalText()
        put = { try StandardStream.write($0, to: terminal.descriptor) }
    }

    mutating func write(_ bytes: [UInt8]) throws {
        guard let shown = text?.text(bytes) else { return try put(bytes) }
        try put(Array(shown.utf8))
    }

    mutating func end() throws {
        if let shown = text?.end() { try put(Array(shown.utf8)) }
    }
}
