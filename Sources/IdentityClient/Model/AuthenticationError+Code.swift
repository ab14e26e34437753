// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

extension AuthenticationError {
    /// The reason for an error, in two levels: `interaction_required` and `interaction_required.consent`.
    ///
    /// A program acts on the first level, which has nine values. A first-level pattern matches all of its second
    /// levels. Later versions may add second levels.
    ///
    /// ```swift
    /// do {
    ///     result = try await app.acquireTokenSilently(scopes: scopes, account: account)
    /// } catch AuthenticationError.Code.interactionRequired {
    ///     result = try await app.acquireTokenInteractively(.init(scopes: scopes, account: account))
    /// }
    /// ```
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The code as text: the first level, or both joined by a dot.
        public let rawValue: String

        /// Creates a code from its text.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The first level, which decides how a program reacts.
        public var primary: Code {
            guard let dot = rawValue.utf8.firstIndex(of: UInt8(ascii: ".")) else { return self }
            return Code(rawValue: String(rawValue[..<dot]))
        }

        /// The code as text.
        public var description: String { rawValue }

        /// Returns whether `code` equals `pattern` or is one of its second levels.
        public static func ~= (pattern: Code, code: Code) -> Bool {
            pattern == code || pattern == code.primary
        }

        /// Returns whether `error` is an ``AuthenticationError`` whose code matches `pattern`.
        public static func ~= (pattern: Code, error: any Error) -> Bool {
            guard let error = error as? AuthenticationError else { return false }
            return pattern ~= error.code
        }
    }
}
