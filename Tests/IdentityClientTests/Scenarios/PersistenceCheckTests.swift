// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Synchronization
import Testing

/// A program learns before the sign-in that tokens cannot be kept.
@Suite(.timeLimit(.minutes(1)))
struct PersistenceCheckTests {
    private func unwritable() -> UnreliableCache {
        let cache = UnreliableCache()
        cache.refusedWrites = [.account]
        return cache
    }

    private func parameters(requiresPersistence: Bool) -> InteractiveParameters {
        var parameters = InteractiveParameters(scopes: ["api.read"])
        parameters.requiresPersistence = requiresPersistence
        return parameters
    }

    @Test func endsBeforeTheBrowserWhereTheProgramSaysSo() async throws {
        let cache = unwritable()
        let setup = try TestSetup(cache: cache)
        let application = try setup.application()
        let parameters = parameters(requiresPersistence: true)
        try await expectError(.cache) { try await application.acquireTokenInteractively(parameters) }
        try await expectError(.cache) { try await application.prepareAuthorization(parameters) }
        #expect(setup.transport.count == 0)
        cache.refusedWrites = []
        let result = try await application.acquireTokenInteractively(parameters)
        guard case .persisted = result.persistence else {
            Issue.record("It has to be stored.")
            return
        }
    }

    @Test func showsNoCodeWhereTheProgramSaysSo() async throws {
        let setup = try TestSetup(cache: unwritable())
        let application = try setup.application()
        var parameters = DeviceCodeParameters(scopes: ["api.read"])
        parameters.requiresPersistence = true
        let prompts = Mutex(0)
        try await expectError(.cache) { [parameters] in
            try await application.acquireTokenWithDeviceCode(parameters) { _ in prompts.withLock { $0 += 1 } }
        }
        #expect(prompts.withLock(\.self) == 0 && setup.transport.count == 0)
    }

    @Test func goesOnWhereTheProgramTakesWhatItGets() async throws {
        let setup = try TestSetup(cache: unwritable())
        let application = try setup.application()
        let parameters = parameters(requiresPersistence: false)
        let result = try await application.acquireTokenInteractively(parameters)
        guard case .failed = result.persistence else {
            Issue.record("The result has to say that it was not stored.")
            return
        }
        let hit = try await application.acquireTokenSilently(scopes: ["api.read"], account: result.account)
        #expect(hit.accessToken == result.accessToken)
    }

    /// A canceled caller gets no error of the cache, and no sign-in begins.
    @Test func isCancelledWithTheSignIn() async throws {
        let (asked, isAsked) = AsyncStream.makeStream(of: Void.self)
        let cache = WaitingCache(isAsked: isAsked)
        let setup = try TestSetup(cache: cache)
        let application = try setup.application()
        let parameters = parameters(requiresPersistence: false)
        let task = Task { try await application.acquireTokenInteractively(parameters) }
        _ = await asked.first { _ in true }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(setup.transport.count == 0)
    }
}

/// A keyring whose dialog stays unanswered.
private struct WaitingCache: TokenCache {
    let isAsked: AsyncStream<Void>.Continuation
    private let storage = InMemoryTokenCache()

    init(isAsked: AsyncStream<Void>.Continuation) {
        self.isAsked = isAsked
    }

    func record(for key: CacheKey) async throws -> CacheRecord? { try await storage.record(for: key) }

    func replace(_ expected: CacheRecord?, with new: CacheRecord?, for key: CacheKey) async throws -> Bool {
        try await storage.replace(expected, with: new, for: key)
    }

    func records(of kind: CacheKey.Kind, in group: CacheGroup) async throws -> [CacheKey: CacheRecord] {
        try await storage.records(of: kind, in: group)
    }

    func checkWritable(in group: CacheGroup) async throws {
        isAsked.yield()
        try await Task.sleep(for: .seconds(3600))
    }
}
