// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

extension Authority {
    /// The scope within which accounts are listed together: the partition without the B2C policy.
    var accountScope: String { Self.accountScope(ofPartition: partition) }

    static func accountScope(ofPartition partition: String) -> String {
        guard partition.hasPrefix("b2c|"), let end = partition.lastIndex(of: "|") else { return partition }
        return String(partition[..<end])
    }
}
