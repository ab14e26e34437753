// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

extension JSONObject {
    /// The object as compact JSON in UTF-8: no white space, members in order, control characters escaped.
    package func serialized() -> [UInt8] {
        var output: [UInt8] = []
        write(to: &output)
        return output
    }

    fileprivate func write(to output: inout [UInt8]) {
        output.append(UInt8(ascii: "{"))
        for (index, member) in members.enumerated() {
            if index > 0 { output.append(UInt8(ascii: ",")) }
            JSONValue.write(member.name, to: &output)
            output.append(UInt8(ascii: ":"))
            member.value.write(to: &output)
        }
        output.append(UInt8(ascii: "}"))
    }
}

extension JSONValue {
    /// The value as compact JSON.
    package var jsonText: String {
        var output: [UInt8] = []
        write(to: &output)
        return String(decoding: output, as: UTF8.self)
    }

    fileprivate func write(to output: inout [UInt8]) {
        switch self {
        case .null: output += "null".utf8
        case .bool(let flag): output += (flag ? "true" : "false").utf8
        case .number(let text): output += text.utf8
        case .string(let text): Self.write(text, to: &output)
        case .object(let object): object.write(to: &output)
        case .array(let values):
            output.append(UInt8(ascii: "["))
            for (index, value) in values.enumerated() {
                if index > 0 { output.append(UInt8(ascii: ",")) }
                value.write(to: &output)
            }
            output.append(UInt8(ascii: "]"))
        }
    }

    fileprivate static func write(_ text: String, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "\""))
        if text.utf8.allSatisfy({ $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }) {
            output += text.utf8
        } else {
            for byte in text.utf8 { writeEscaped(byte, to: &output) }
        }
        output.append(UInt8(ascii: "\""))
    }

    private static func writeEscaped(_ byte: UInt8, to output: inout [UInt8]) {
        switch byte {
        case UInt8(ascii: "\""): output += #"\""#.utf8
        case UInt8(ascii: "\\"): output += #"\\"#.utf8
        case 0x0A: output += #"\n"#.utf8
        case 0x0D: output += #"\r"#.utf8
        case 0x09: output += #"\t"#.utf8
        case 0..<0x20:
            output += #"\u00"#.utf8
            output.append(PercentEncoding.hexDigit(byte >> 4))
            output.append(PercentEncoding.hexDigit(byte & 0xF))
        default: output.append(byte)
        }
    }
}
