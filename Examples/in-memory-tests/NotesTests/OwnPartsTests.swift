// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import IdentityClient
import IdentityTesting
import Notes
import Synchronization
import Testing

/// A cache, a transport, a browser and a clock of the program's own, each around another one, by what the products make public.
@Suite(.timeLimit(.minutes(1))) struct OwnPartsTests {
    @Test func signsInAndRenewsThroughThePartsOfTheProgram() async throws {
        let clock = ShiftedClock()
        let provider = try TestIdentityProvider(clock: clock)
        let person = ScriptedBrowser(provider: provider, receiver: InMemoryRedirectReceiver())
        let cache = NotingCache(InMemoryTokenCache())
        let transport = SlowestTransport(provider.transport)
        let browser = NotingBrowser(person)
        var configuration = ClientConfiguration(clientID: "test-client", authority: provider.authority, cache: cache)
        configuration.transport = transport
        configuration.browser = browser
        configuration.redirectReceiver = person.redirectReceiver
        configuration.clock = clock
        let session = try NotesSession(configuration)

        try await session.signIn()
        #expect(browser.hosts == ["login.example.test"])
        #expect(cache.writes.contains(.account))
        let first = try await session.header()

        clock.shift(by: .seconds(3600))
        #expect(try await session.header() != first)
        #expect(provider.count(of: .token) == 2 && transport.slowest > .zero)
        #expect(cache.reservations == 1, "The refresh has its room before it is sent.")
    }
}

extension NotesSession {
    /// The header field of a request to the notes server.
    func header() async throws -> String {
        var request = HTTPRequest(method: .get, scheme: "https", authority: "notes.example.test", path: "/notes")
        try await authorize(&request)
        return request.headerFields[.authorization] ?? ""
    }
}

/// Notes the kinds of records that are written.
final class NotingCache: TokenCache {
    private let base: any TokenCache
    private let state = Mutex((writes: Set<CacheKey.Kind>(), reservations: 0))

    init(_ base: any TokenCache) { self.base = base }

    var writes: Set<CacheKey.Kind> { state.withLock { $0.writes } }
    var reservations: Int { state.withLock { $0.reservations } }

    func record(for key: CacheKey) async throws -> CacheRecord? { try await base.record(for: key) }

    func replace(_ expected: CacheRecord?, with new: CacheRecord?, for key: CacheKey) async throws -> Bool {
        _ = state.withLock { $0.writes.insert(key.kind) }
        return try await base.replace(expected, with: new, for: key)
    }

    func records(of kind: CacheKey.Kind, in group: CacheGroup) async throws -> [CacheKey: CacheRecord] {
        try await base.records(of: kind, in: group)
    }

    func changes(in group: CacheGroup) -> AsyncStream<CacheKey>? { base.changes(in: group) }

    func checkWritable(in group: CacheGroup) async throws { try await base.checkWritable(in: group) }

    func reserve(_ bytes: Int, for key: CacheKey) async throws -> (any TokenCacheReservation)? {
        state.withLock { $0.reservations += 1 }
        return try await base.reserve(bytes, for: key)
    }
}

/// Measures the requests.
final class SlowestTransport: HTTPTransport {
    private let base: any HTTPTransport
    private let longest = Mutex(Duration.zero)

    init(_ base: any HTTPTransport) { self.base = base }

    var slowest: Duration { longest.withLock(\.self) }

    func send(_ request: HTTPRequest, body: [UInt8]?) async throws -> (HTTPResponse, [UInt8]) {
        let start = ContinuousClock.now
        defer { longest.withLock { $0 = max($0, .now - start) } }
        return try await base.send(request, body: body)
    }
}

/// Notes the hosts of the pages.
final class NotingBrowser: BrowserLauncher {
    private let base: any BrowserLauncher
    private let opened = Mutex<[String]>([])

    init(_ base: any BrowserLauncher) { self.base = base }

    var hosts: [String] { opened.withLock(\.self) }

    func open(_ url: URL) async throws {
        opened.withLock { $0.append(url.host() ?? "") }
        try await base.open(url)
    }
}

/// The computer's clock, put forward.
final class ShiftedClock: WallClock {
    private let shift = Mutex(TimeInterval.zero)

    var now: Date { Date.now.addingTimeInterval(shift.withLock(\.self)) }

    func shift(by duration: Duration) { shift.withLock { $0 += Double(duration.components.seconds) } }

    func sleep(for duration: Duration) async throws { try await Task.sleep(for: duration) }
}
