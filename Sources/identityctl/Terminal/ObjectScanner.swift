// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Finds the end of one JSON object in bytes that arrive piece by piece. Each byte is looked at once.
///
/// Clients of oidc-agent send an object without a line end, and wait. The parser afterwards checks all the rest.
struct ObjectScanner {
    enum Step: Hashable {
        case incomplete
        /// The object ends before this offset.
        case complete(end: Int)
        case notAnObject
    }

    private var position = 0
    private var depth = 0
    private var isInString = false
    private var isEscaped = false

    /// - Parameter bytes: All bytes since the beginning.
    mutating func scan(_ bytes: [UInt8]) -> Step {
        while position < bytes.count {
            let byte = bytes[position]
            position += 1
            if isInString {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isInString = false
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                guard depth > 0 || byte == UInt8(ascii: "{") else { return .notAnObject }
                depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                if depth <= 0 { return depth == 0 ? .complete(end: position) : .notAnObject }
            case UInt8(ascii: "\"") where depth > 0: isInString = true
            case 0x20, 0x09, 0x0A, 0x0D: break
            default:
                guard depth > 0 else { return .notAnObject }
            }
        }
        return .incomplete
    }
}
