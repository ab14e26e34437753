// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

extension String {
    /// One word of a POSIX shell's command line: the text itself if it has no special character, otherwise in single
    /// quotes.
    ///
    /// By bytes: `'` and a combining accent are one `Character`, but a shell sees the `'`.
    /// - SeeAlso: [POSIX Shell §2.2.2](https://pubs.opengroup.org/onlinepubs/9799919799/utilities/V3_chap02.html#tag_19_02_02)
    package var shellWord: String {
        guard utf8.isEmpty || !utf8.allSatisfy(\.isPlainInShells) else { return self }
        let escaped = utf8.flatMap { $0 == UInt8(ascii: "'") ? Array(#"'\''"#.utf8) : [$0] }
        return "'" + String(decoding: escaped, as: UTF8.self) + "'"
    }
}

extension UInt8 {
    private static let plainSigns = Set("/._-+:@%,=".utf8)

    fileprivate var isPlainInShells: Bool {
        switch self {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: Self.plainSigns.contains(self)
        }
    }
}
