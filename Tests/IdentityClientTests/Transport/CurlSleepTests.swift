// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import IdentityTestSupport
import SystemSupport
import Testing

@testable import IdentityClient

/// Requests after the computer was suspended.
@Suite(.timeLimit(.minutes(1))) struct CurlSleepTests {
    private let timeAsleep = Shared(Duration.seconds(100))
    private let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    @Test(arguments: [
        (Duration.zero, 1), (.seconds(2), 1), (.milliseconds(2001), 2), (.seconds(3600), 2),
    ])
    func aConnectionFromBeforeIsNotUsedAgain(sleep: Duration, connections: Int) async throws {
        let server = try ScriptedServer(answering: ok)
        defer { server.close() }
        let transport = CurlTransport.onAComputer(asleepFor: timeAsleep)

        _ = try await transport.send(.post(server), body: [1])
        timeAsleep.withLock { $0 += sleep }
        transport.prepare()
        for _ in 0..<3 { _ = try await transport.send(.post(server), body: [1]) }

        #expect(server.requests.count == 4)
        #expect(server.connections == connections)
        #expect(await happens { server.openConnections == 1 })
    }

    @Test func whatIsUnderWayGoesOnToItsOwnEnd() async throws {
        let server = try ScriptedServer { [ok] request in
            [.wait(milliseconds: request.line.contains("/slow") ? 300 : 0), .send(Array(ok.utf8))]
        }
        defer { server.close() }
        let transport = CurlTransport.onAComputer(asleepFor: timeAsleep)

        let slow = Task { try await transport.send(.post(server, "/slow"), body: [1]) }
        #expect(await happens { server.requests.count == 1 })
        timeAsleep.withLock { $0 += .seconds(60) }
        let (quick, _) = try await transport.send(.post(server, "/quick"), body: [1])

        #expect(quick.status == .ok)
        #expect(try await slow.value.0.status == .ok)
        #expect(server.connections == 2)
        #expect(await happens { server.openConnections == 1 })
    }

    @Test func aComputerThatIsAwakeHasNotSlept() async {
        let meter = SleepMeter()
        // The two clocks are read one after the other, and a busy computer may pause in between.
        #expect(await happens { abs(meter.timeAsleep.components.seconds) < 1 })
    }
}
