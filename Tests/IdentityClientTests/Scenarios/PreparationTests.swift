// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Testing

/// The moment when a transport learns that a request will follow.
@Suite(.timeLimit(.minutes(1)))
struct PreparationTests {
    @Test func tellsTheTransportBeforeItReadsWhatARefreshNeeds() async throws {
        let cache = CountingCache()
        let setup = try TestSetup(cache: cache)
        let (_, first) = try await setup.signedIn()
        let transport = Transport(setup.transport) { cache.state.value.reads }
        let application = try setup.application { $0.transport = transport }
        _ = try await application.acquireTokenSilently(scopes: ["api.read"], account: first.account)
        #expect(transport.readsWhenTold.isEmpty, "A hit prepares nothing.")

        let before = cache.state.value.reads
        let token = try await application.acquireTokenSilently(
            SilentParameters(scopes: ["api.read"], account: first.account, forcesRefresh: true)
        )

        #expect(token.source == .identityProvider)
        #expect(transport.readsWhenTold.count == 1)
        let told = try #require(transport.readsWhenTold.first)
        #expect(told > before, "The lease comes first.")
        #expect(told < cache.state.value.reads, "The record is read meanwhile.")
    }

    private final class Transport: PreparableTransport {
        private let base: any HTTPTransport
        private let reads: @Sendable () -> Int
        private let told = Shared<[Int]>([])

        init(_ base: any HTTPTransport, reads: @escaping @Sendable () -> Int) {
            self.base = base
            self.reads = reads
        }

        var readsWhenTold: [Int] { told.value }

        func prepare() { told.withLock { $0.append(reads()) } }

        func send(_ request: HTTPRequest, body: [UInt8]?) async throws -> (HTTPResponse, [UInt8]) {
            try await base.send(request, body: body)
        }
    }
}
