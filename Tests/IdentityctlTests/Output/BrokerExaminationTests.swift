// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import Testing

@testable import identityctl

@Suite struct BrokerExaminationTests {
    @Test(
        arguments: [
            (BrokerInformation(product: "himmelblau_broker", version: "2.0.0"), "himmelblau_broker, version 2.0.0"),
            (BrokerInformation(version: "3.0.1"), "Microsoft's, or another that does not tell its name, version 3.0.1"),
            (BrokerInformation(product: "b"), "b, version not told"),
        ]
    )
    func tellsVendorAndVersion(facts: BrokerInformation, found: String) {
        #expect(Examination.broker(.success(facts), isRequired: true) == .ok("identity broker", found))
    }

    @Test func countsAMissingBrokerOnlyIfItIsRequired() {
        let error = AuthenticationError(.brokerUnavailable, "No identity broker could be started here.")
        let required = Examination.broker(.failure(error), isRequired: true)
        #expect(required.state == .lack && required.advice == error.message && required.status != .done)
        #expect(Examination.broker(.failure(error), isRequired: false).state == .unknown)
    }
}
