// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Testing

@testable import identityctl

/// The files of sign-ins that wait for their second command.
@Suite(.timeLimit(.minutes(1))) struct PendingSignInsTests {
    private let setup: TestSetup
    private let application: PublicClientApplication
    private let temporary: TemporaryDirectory
    private let pending: PendingSignIns

    init() throws {
        setup = try TestSetup(listensOnLoopback: true)
        setup.browser.followsRedirects = false
        application = try setup.application()
        temporary = try TemporaryDirectory()
        pending = try PendingSignIns(application.configuration, in: temporary.path)
    }

    private var files: [String] {
        get throws {
            let directory = temporary.path + "/pending-sign-ins"
            return try FileManager.default.contentsOfDirectory(atPath: directory).map { "\(directory)/\($0)" }
        }
    }

    private func begin() async throws -> URL {
        let request = try await application.prepareAuthorization(InteractiveParameters(scopes: ["api.read"]))
        try pending.add(request, account: "alice")
        try await setup.browser.open(request.url)
        return try await setup.browser.redirectURL()
    }

    @Test func areFinishedOnce() async throws {
        let (first, second) = (try await begin(), try await begin())
        let attributes = try FileManager.default.attributesOfItem(atPath: try #require(try files.first))
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        let signIn = try #require(try pending.take(answeredBy: second))
        #expect(signIn.account == "alice")
        try await expectError(.interactionInProgress) { try pending.take(answeredBy: second) }
        #expect(try await signIn.finish(application, with: second).source == .identityProvider)
        #expect(try pending.take(answeredBy: second) == nil && files.count == 1)
        let other = try PendingSignIns(setup.application { $0.clientID = "other" }.configuration, in: temporary.path)
        #expect(try other.take(answeredBy: first) == nil && !other.removeAll())
        #expect(pending.removeAll() && !pending.removeAll())
        #expect(try pending.take(answeredBy: first) == nil)
    }

    @Test func stayWhereTheAddressMayStillBeGood() async throws {
        let address = try await begin()
        setup.provider.failNext(.token, with: .serverError())
        try await expectError(.serverUnavailable) {
            try await #require(try pending.take(answeredBy: address)).finish(application, with: address)
        }
        #expect(try files.count == 1)
        setup.provider.failNext(.token, with: .emptyBadRequest)
        await #expect(throws: AuthenticationError.self) {
            try await #require(try pending.take(answeredBy: address)).finish(application, with: address)
        }
        #expect(try files.isEmpty)
    }

    @Test func areRemovedAfterTheirTime() async throws {
        _ = try await begin()
        setup.clock.advance(by: .seconds(301))
        let address = try await begin()
        #expect(try files.count == 1)
        #expect(try pending.take(answeredBy: address) != nil)
    }

    @Test func areNotReadIfOthersCan() async throws {
        let address = try await begin()
        let file = try #require(try files.first)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file)
        let refusal = #expect(throws: SystemFailure.self) { try pending.take(answeredBy: address) }
        #expect(refusal.map { "\($0)".contains("only you can read") } == true)
    }
}
