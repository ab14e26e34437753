// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

extension AuthenticationError {
    /// What went wrong, in two levels: `interaction_required` and `interaction_required.consent`.
    ///
    /// The first level is what a program can act on; there are nine. A pattern of the first level matches all its
    /// second levels. More second levels may come.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The code as text: the first level, or both joined by a dot.
        public let rawValue: String

        /// Creates a code from its text.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The first level, which a program acts on.
        public var primary: Code {
            guard let dot = rawValue.utf8.firstIndex(of: UInt8(ascii: ".")) else { return self }
            return Code(rawValue: String(rawValue[..<dot]))
        }

        /// The code as text.
        public var description: String { rawValue }

        /// Whether `code` is `pattern`, or one of its second levels.
        public static func ~= (pattern: Code, code: Code) -> Bool {
            pattern == code || pattern == code.primary
        }

        /// Whether `error` is an ``AuthenticationError`` whose code matches `pattern`.
        public static func ~= (pattern: Code, error: any Error) -> Bool {
            guard let error = error as? AuthenticationError else { return false }
            return pattern ~= error.code
        }
    }
}
