// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Questions about the bytes of a text.
extension Sequence<UInt8> {
    /// Whether there is a control character of ASCII, such as a line's end.
    var hasControls: Bool { contains { $0 < 0x20 || $0 == 0x7F } }

    /// Whether all are visible signs of ASCII. Tokens and addresses are such texts.
    var areVisible: Bool { allSatisfy { (0x21...0x7E).contains($0) } }

    /// Whether all are letters and digits of ASCII, or one of `others`.
    func areAlphanumeric(or others: String) -> Bool { allSatisfy { $0.isAlphanumeric || others.utf8.contains($0) } }
}

extension UInt8 {
    /// Whether this is a letter or a digit of ASCII.
    var isAlphanumeric: Bool {
        switch self {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: false
        }
    }
}
