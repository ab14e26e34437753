// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes

/// Reads the status line and the header fields of an answer.
enum ResponseHead {
    /// The answer's status and fields in their order, also several with the same name; `nil` if there is no status
    /// line.
    ///
    /// Other lines are skipped; a folded line continues the field before it.
    /// - SeeAlso: [RFC 9112 §4, §5](https://www.rfc-editor.org/rfc/rfc9112#section-4)
    static func parse(_ bytes: [UInt8]) -> HTTPResponse? {
        var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)[...]
        guard let first = lines.popFirst(), let code = statusCode(first) else { return nil }

        var fields: [(name: HTTPField.Name, value: [UInt8])] = []
        for line in lines {
            if let start = line.first, isBlank(start), !fields.isEmpty, start != UInt8(ascii: "\r") {
                fields[fields.count - 1].value += [UInt8(ascii: " ")] + trimmed(line)
                continue
            }
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")),
                let name = HTTPField.Name(String(decoding: line[..<colon], as: UTF8.self))
            else { continue }
            fields.append((name, Array(trimmed(line[(colon + 1)...]))))
        }

        var response = HTTPResponse(status: HTTPResponse.Status(code: code))
        response.headerFields.reserveCapacity(fields.count)
        for field in fields {
            response.headerFields.append(HTTPField(name: field.name, value: field.value))
        }
        return response
    }

    private static func statusCode(_ line: ArraySlice<UInt8>) -> Int? {
        guard line.starts(with: "HTTP/".utf8), let space = line.firstIndex(of: UInt8(ascii: " ")) else { return nil }
        let digits = trimmed(line[(space + 1)...]).prefix { $0 != UInt8(ascii: " ") }
        guard digits.count == 3, let code = Int(String(decoding: digits, as: UTF8.self)), (100...999).contains(code)
        else { return nil }
        return code
    }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var bytes = bytes.drop(while: isBlank)
        while let last = bytes.last, isBlank(last) { bytes.removeLast() }
        return bytes
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") || byte == UInt8(ascii: "\r")
    }
}
