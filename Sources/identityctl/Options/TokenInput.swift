// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// A token that a file or standard input has.
enum TokenInput {
    /// Returns the token in the file that the text names, or on standard input for `-`, without the blanks and line ends
    /// around it.
    ///
    /// - Throws: `UsageError` for a file that does not exist or has no token, `SystemFailure`, `CancellationError`.
    static func token(in given: Given) async throws -> String {
        let limit = 128 << 10
        let bytes: [UInt8]
        if given.text == "-" {
            bytes = try await StandardInput.whole()
        } else {
            guard let read = try PlainFile.read(given.text, atMost: limit, check: { _ in }) else {
                throw given.error("'\(given.text.printable)' does not exist.")
            }
            bytes = read.bytes
        }
        guard bytes.count < limit, let text = String(validating: bytes, as: UTF8.self) else {
            throw given.error("this is no token.")
        }
        return String(text.drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
    }
}
