// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The reason and place at which bytes are not the expected JSON object; never their content.
package struct JSONError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The reason.
    package enum Reason: String, Hashable, Sendable {
        case unexpectedEnd = "the text ends early"
        case unexpectedByte = "an unexpected byte"
        case byteOrderMark = "a byte order mark"
        case notAnObject = "the text is not an object"
        case trailingBytes = "bytes after the object"
        case tooDeep = "the values are nested too deeply"
        case duplicateName = "a member name occurs twice"
        case invalidUTF8 = "a string is not UTF-8"
        case controlCharacter = "a control character in a string"
        case invalidEscape = "an invalid escape sequence"
        case loneSurrogate = "half of a surrogate pair"
        case invalidNumber = "an invalid number"
    }

    /// The reason.
    package let reason: Reason

    /// The offset in bytes at which the problem was noticed.
    package let offset: Int

    package init(reason: Reason, offset: Int) {
        self.reason = reason
        self.offset = offset
    }

    package var description: String { "\(reason.rawValue) at byte \(offset)" }
}
