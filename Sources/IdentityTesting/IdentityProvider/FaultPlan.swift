// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The faults planned for the next answers.
struct FaultPlan: Sendable {
    typealias Endpoint = TestIdentityProvider.Endpoint

    var next: [Endpoint: [TestIdentityProvider.Fault]] = [:]
    var always: [Endpoint: TestIdentityProvider.Fault] = [:]
    var tampering: [IDTokenTampering] = []

    mutating func take(for endpoint: Endpoint) -> TestIdentityProvider.Fault? {
        guard var queue = next[endpoint], !queue.isEmpty else { return always[endpoint] }
        let fault = queue.removeFirst()
        next[endpoint] = queue
        return fault
    }

    mutating func takeTampering() -> IDTokenTampering? { tampering.isEmpty ? nil : tampering.removeFirst() }
}
