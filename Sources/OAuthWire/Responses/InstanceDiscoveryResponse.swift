// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Microsoft's answer about which hosts are one cloud.
package struct InstanceDiscoveryResponse: Sendable {
    /// One cloud.
    package struct Entry: Hashable, Sendable {
        /// The host to send requests to.
        package var preferredNetwork: String
        /// The host that cache entries carry.
        package var preferredCache: String
        /// All hosts of the cloud.
        package var aliases: [String]
    }

    package var tenantDiscoveryEndpoint: String
    package var metadata: [Entry]

    /// Reads the answer.
    /// - Throws: `WireError` when a field is missing or wrong.
    package init(_ json: JSONObject) throws {
        tenantDiscoveryEndpoint = try json.requiredString("tenant_discovery_endpoint")
        guard let value = json["metadata"], !value.isNull else {
            metadata = []
            return
        }
        guard case .array(let values) = value, values.count <= 100 else { throw WireError.wrongType("metadata") }
        metadata = try values.map { value in
            guard case .object(let entry) = value else { throw WireError.wrongType("metadata") }
            return Entry(
                preferredNetwork: try entry.requiredString("preferred_network"),
                preferredCache: try entry.requiredString("preferred_cache"),
                aliases: try entry.optionalStrings("aliases") ?? []
            )
        }
    }
}
