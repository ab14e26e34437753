// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Testing

@testable import identityctl

@Suite(.timeLimit(.minutes(1)))
struct MCPDepartureTests {
    @Test func aMessageThatWasCancelledBeforeDoesNotLeave() {
        let departure = MCPDeparture()
        #expect(!departure.cancel() && departure.isCancelled)
        #expect(throws: CancellationError.self) { try departure.begin() }
    }

    @Test func theServerIsToldOnceOfOneThatHasBegunToLeave() throws {
        let departure = MCPDeparture()
        try departure.begin()
        #expect(departure.cancel() && !departure.cancel())
        // It may be sent again, with another token.
        try departure.begin()
    }

    @Test func theServerIsNotToldOfOneThatHasItsAnswer() async throws {
        let departure = MCPDeparture()
        try departure.begin()
        departure.end()
        #expect(await !departure.waitForArrival())
    }
}
