// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// A violation of the protocol in a message. The error names the place, never its content.
package enum WireError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The message, or its named part, cannot be understood.
    case malformed(String)
    /// A required field is absent or empty.
    case missing(String)
    /// A field occurs more than once.
    case duplicate(String)
    /// A field has another type, or a value outside its range.
    case wrongType(String)

    package var description: String {
        switch self {
        case .malformed(let what): "malformed \(what)"
        case .missing(let field): "\(field) is missing"
        case .duplicate(let field): "\(field) occurs more than once"
        case .wrongType(let field): "\(field) has a wrong type or value"
        }
    }
}

/// Reading fields: `null` and the empty string are absent, another type is an error.
extension JSONObject {
    package func optionalString(_ name: String) throws(WireError) -> String? {
        guard let value = self[name], !value.isNull else { return nil }
        guard let text = value.string else { throw WireError.wrongType(name) }
        return text.isEmpty ? nil : text
    }

    func requiredString(_ name: String) throws(WireError) -> String {
        guard let text = try optionalString(name) else { throw WireError.missing(name) }
        return text
    }

    package func optionalStrings(_ name: String) throws(WireError) -> [String]? {
        guard let value = self[name], !value.isNull else { return nil }
        guard let strings = strings(name) else { throw WireError.wrongType(name) }
        return strings
    }

    func optionalBool(_ name: String) throws(WireError) -> Bool? {
        guard let value = self[name], !value.isNull else { return nil }
        guard let flag = bool(name) else { throw WireError.wrongType(name) }
        return flag
    }

    /// A duration in whole seconds, a fraction cut off. Less than nothing counts as nothing, and more than ten years as
    /// ten, so that adding it to an instant cannot overflow.
    func optionalDuration(_ name: String) throws(WireError) -> Int? {
        guard let value = self[name], !value.isNull, value != .string("") else { return nil }
        guard let seconds = value.clamped(to: 0...Int64(Self.maximumDuration)) else { throw WireError.wrongType(name) }
        return Int(seconds)
    }

    /// Ten years, in seconds.
    package static var maximumDuration: Int { 315_360_000 }
}
