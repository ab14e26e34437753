// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Lines of this program at the beginning of a person's text file, between two comments. All else in the file stays.
///
/// They come first because a section, or a table, would take in what follows it.
struct MarkedLines: Hashable, Sendable {
    private static let end = "# End of identityctl's lines."

    /// The lines between the comments.
    var lines: [String]
    /// The lines of the file that are not this program's.
    let others: [String]
    private let before: [String]
    private let after: [String]
    private let begin: String

    /// - Parameter tool: The word after `identityctl integrate`.
    /// - Throws: `UsageError` if the file is not UTF-8 text, or has half of the comments.
    init(_ file: ConfigFile, of tool: String) throws {
        begin = "# Lines of 'identityctl integrate \(tool)'; --undo removes them."
        guard let text = String(validating: file.bytes ?? [], as: UTF8.self), !text.utf8.contains(0) else {
            throw UsageError("\(file.path.printable) is not UTF-8 text. Nothing was changed.")
        }
        guard !text.utf8.starts(with: [0xEF, 0xBB, 0xBF]) else {
            throw UsageError("\(file.path.printable) begins with a byte order mark. Nothing was changed.")
        }
        // Bytes, because a carriage return and a line feed are one character.
        let rows = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
            .map { String(Substring($0)) }
        guard let first = rows.firstIndex(of: begin) else {
            (lines, before, after, others) = ([], [], rows, rows)
            return
        }
        guard let last = rows[first...].firstIndex(of: Self.end) else {
            throw UsageError("\(file.path.printable) has the line '\(begin)' without '\(Self.end)'. Remove that part.")
        }
        lines = Array(rows[(first + 1)..<last])
        before = Array(rows[..<first])
        after = Array(rows[(last + 1)...])
        others = before + after
    }

    /// The bytes of the whole file.
    var bytes: [UInt8] {
        let own = lines.isEmpty ? [] : [begin] + lines + [Self.end]
        return Array((before + own + after).joined(separator: "\n").utf8)
    }
}
