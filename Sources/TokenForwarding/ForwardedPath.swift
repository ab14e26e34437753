// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import LoopbackHTTP

/// The path of a request, of which no server can read another one.
struct ForwardedPath {
    /// As written, without the query.
    let text: Substring

    /// - Parameter target: The path and maybe a query.
    /// - Throws: `.malformed` if a server could take the path for one above or beside it.
    init(_ target: some StringProtocol) throws(MessageProblem) {
        let end = target.firstIndex(of: "?") ?? target.endIndex
        text = Substring(target[..<end])
        guard text.utf8.first == 0x2F, !target.utf8.contains(0x23), !text.utf8.contains(0x5C) else { throw .malformed }
        let decoded = try Self.decoded(text.utf8)
        // Most paths have no such segment, and are not taken to pieces.
        guard !decoded.starts(with: "//".utf8), !decoded.contains(0) else { throw .malformed }
        guard decoded.contains(0x2E) else { return }
        for segment in decoded.split(omittingEmptySubsequences: false, whereSeparator: { $0 == 0x2F || $0 == 0x5C }) {
            let name = segment.prefix { $0 != 0x3B }
            guard !name.elementsEqual(".".utf8), !name.elementsEqual("..".utf8) else { throw .malformed }
        }
    }

    /// Whether `path` is this one or above it, by whole segments as they are written. An encoded slash makes only more segments
    /// behind these.
    func isBelow(_ path: String) -> Bool {
        let path = path.hasSuffix("/") ? path.dropLast() : path[...]
        guard text.utf8.starts(with: path.utf8) else { return false }
        let rest = text.utf8.dropFirst(path.utf8.count)
        return rest.isEmpty || rest.first == 0x2F
    }

    private static func decoded(_ text: Substring.UTF8View) throws(MessageProblem) -> [UInt8] {
        guard text.contains(0x25) else { return Array(text) }
        var decoded: [UInt8] = []
        var rest = Array(text)[...]
        while let byte = rest.popFirst() {
            if byte == 0x25 {
                let digits = rest.prefix(2)
                // Not `UInt8(_:radix:)` alone, which takes a sign.
                guard digits.count == 2, digits.allSatisfy({ Character(UnicodeScalar($0)).isHexDigit }),
                    let byte = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
                else { throw .malformed }
                decoded.append(byte)
                rest = rest.dropFirst(2)
            } else {
                decoded.append(byte)
            }
        }
        return decoded
    }
}
