// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

extension JSONObject {
    /// Returns the object as JSON for people, with a line for each value.
    func indented(by indentation: String) -> String { JSONValue.object(self).indented(by: indentation, "\n") }
}

extension JSONValue {
    /// - Parameter line: A line end and the indentation of this value.
    fileprivate func indented(by indentation: String, _ line: String) -> String {
        let inner = line + indentation
        switch self {
        case .object(let object) where !object.isEmpty:
            let rows = object.members.map { member in
                "\(inner)\(JSONValue.string(member.name).jsonText): \(member.value.indented(by: indentation, inner))"
            }
            return "{\(rows.joined(separator: ","))\(line)}"
        case .array(let values) where !values.isEmpty:
            let rows = values.map { inner + $0.indented(by: indentation, inner) }
            return "[\(rows.joined(separator: ","))\(line)]"
        default: return jsonText
        }
    }
}
