// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

extension Examination {
    /// - Parameters:
    ///   - facts: The broker's description of itself, or the error that prevented it.
    ///   - isRequired: Whether the person wants no sign-in without the broker.
    static func broker(_ facts: Result<BrokerInformation, any Error>, isRequired: Bool) -> Finding {
        let check = "identity broker"
        switch facts {
        case .success(let facts):
            let product = facts.product ?? "Microsoft's, or another that does not tell its name"
            return .ok(check, "\(product), version \(facts.version ?? "not told")")
        case .failure(let error):
            let lack = Finding.lack(check, "it cannot be used", error)
            return isRequired ? lack : lack.notNeeded("with --broker auto")
        }
    }
}
