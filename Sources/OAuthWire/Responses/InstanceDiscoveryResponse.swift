// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Microsoft's list of clouds and their hosts.
package struct InstanceDiscoveryResponse: Sendable {
    /// The hosts of each cloud.
    package var aliases: [[String]]

    /// Reads the answer; without `metadata` it names no cloud.
    /// - Throws: `WireError` if the list has a wrong type.
    package init(_ json: JSONObject) throws {
        guard let value = json["metadata"], !value.isNull else {
            aliases = []
            return
        }
        guard case .array(let values) = value, values.count <= 100 else { throw WireError.wrongType("metadata") }
        aliases = try values.map { value in
            guard case .object(let entry) = value else { throw WireError.wrongType("metadata") }
            return try entry.optionalStrings("aliases") ?? []
        }
    }
}
