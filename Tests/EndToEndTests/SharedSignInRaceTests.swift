// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityCacheTesting
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Testing

extension EndToEnd {
    /// Interactions at real providers between processes that share a sign-in, while one of them refreshes or has died.
    @Suite struct SharedSignInRaceTests {
        /// T3: no process has the new refresh token, and the old token is used up.
        @Test(arguments: Provider.Name.allCases)
        func whoeverComesAfterALostAnswerIsToldThatAPersonIsNeeded(name: Provider.Name) async throws {
            let program = try Program(at: Provider(name), with: .form)
            let account = try await program.signIn().account
            try await program.killWorker(at: "after-answer")
            let told = try await program.report(1)
            #expect(told.error == AuthenticationError.Code.signInExpired.rawValue, "\(told)")
            _ = try await program.signIn { $0.account = account }
            let next = try await program.report(2)
            #expect(next.error == nil && next.source == "identityProvider", "\(next)")
        }

        /// T3 with a grace period; glewlwyd has none. django-oauth-toolkit's second answer has an ID token for an
        /// access token that it has discarded (`at_hash`). The library ignores the ID token, and no sign-in is needed.
        @Test func aLostAnswerComesAgainWithinTheGracePeriod() async throws {
            let program = try Program(at: Provider(.djangoOAuthToolkit, hasGracePeriod: true), with: .form)
            _ = try await program.signIn()
            try await program.killWorker(at: "after-answer")
            let next = try await program.report(1)
            #expect(next.error == nil && next.source == "identityProvider", "\(next)")
            try await program.expectAlive()
        }

        /// T6: the provider has rotated the refresh token, and the process does not have the answer yet.
        @Test(arguments: Provider.Name.allCases)
        func aSignInOrSignOutDuringARefreshIsWhatCounts(name: Provider.Name) async throws {
            let program = try Program(at: Provider(name), with: .form)
            let account = try await program.signIn().account
            let old = try await program.heldRefresh(for: account)
            let newer = try Program(at: Provider(name), with: .form, directory: program.directory)
            newer.clock.advance(by: try newer.provider.accessTokenLifetime)
            let token = try await newer.signIn().accessToken
            old.gate.open()
            #expect(try await old.result.value.accessToken == token)
            #expect(try await newer.report(1).token == token)

            let late = try await newer.heldRefresh(for: account)
            #expect(try await newer.report(2) { $0.removes = true }.error == nil)
            late.gate.open()
            let error = try await #require(throws: AuthenticationError.self) { try await late.result.value }
            #expect(error.code == .accountRemoved)
            #expect(try await newer.app.allAccounts().isEmpty)
            #expect(try await newer.report(3).error == "no_account")
        }

        /// T7 and T8: callers whom the same answer cannot serve refresh one after the other, each with the newest
        /// refresh token.
        @Test(arguments: Provider.Name.allCases)
        func differentWishesAreGrantedOneAfterTheOther(name: Provider.Name) async throws {
            let program = try Program(at: Provider(name), with: .form, username: "bob")  // who may have both scopes
            _ = try await program.signIn { $0.scopes = ["api.read", "api.write"] }
            let mixed = try (0..<6).map { number in try program.worker(1) { $0.forces = number == 0 } }
            let reports = try await program.reports(of: mixed)
            #expect(reports.allSatisfy { $0.error == nil && $0.token != nil }, "\(reports.compactMap(\.error))")
            #expect(reports[0].source == "identityProvider")
            #expect((1...2).contains(reports.map(\.requests).reduce(0, +)), "\(reports.map(\.requests))")

            let forced = try ["api.read", "api.write"].map { scope in
                try program.worker(2) { ($0.scope, $0.forces) = (scope, true) }
            }
            let answers = try await program.reports(of: forced)
            #expect(answers.allSatisfy { $0.error == nil && $0.requests == 1 }, "\(answers)")
            #expect(Set(answers.map(\.token)).count == 2)
            try await program.expectAlive()
        }

        /// T9: while the answer for one account is held back, another account and another provider in the same cache
        /// get theirs.
        @Test(arguments: Provider.Name.allCases)
        func otherAccountsAndOtherProvidersDoNotWait(name: Provider.Name) async throws {
            let other: Provider.Name = name == .glewlwyd ? .djangoOAuthToolkit : .glewlwyd
            let alice = try Program(at: Provider(name), with: .form)
            let bob = try Program(at: Provider(name), with: .form, username: "bob", directory: alice.directory)
            let elsewhere = try Program(at: Provider(other), with: .form, directory: alice.directory)
            let scopes = Program.scopes.union(["email"])  // glewlwyd tells no other name
            let account = try await alice.signIn { $0.scopes = scopes }.account
            let bobsName = try #require(try await bob.signIn { $0.scopes = scopes }.account.username)
            #expect(bobsName != account.username)
            _ = try await elsewhere.signIn()
            let held = try await alice.heldRefresh(for: account)
            let others = [try bob.worker(1) { $0.username = bobsName }, try elsewhere.worker(1)]
            for report in try await alice.reports(of: others) {
                #expect(report.error == nil && report.source == "identityProvider", "\(report)")
            }
            held.gate.open()
            #expect(try await held.result.value.source == .identityProvider)
            try await alice.expectAlive { $0.username = account.username }
            try await bob.expectAlive { $0.username = bobsName }
            try await elsewhere.expectAlive()
        }

        /// T10: a lease whose process is dead, and lock files that are removed while a refresh is in progress.
        @Test(arguments: Provider.Name.allCases)
        func staleLeasesAndRemovedLocksHurtNobody(name: Provider.Name) async throws {
            let program = try Program(at: Provider(name), with: .form)
            let account = try await program.signIn().account
            try await program.killWorker(at: "after-lease")
            let next = try await program.report(1)
            #expect(next.error == nil && next.source == "identityProvider", "\(next)")
            #expect(next.milliseconds < 5000, "Nobody waits until the lease runs out.")

            program.clock.advance(by: try program.provider.accessTokenLifetime)
            let held = try await program.heldRefresh(for: account)
            let tokens = "\(program.directory.path)/tokens"
            let locks = try FileManager.default.subpathsOfDirectory(atPath: tokens).filter { $0.contains("/.lock-") }
            #expect(!locks.isEmpty)
            for lock in locks { try FileManager.default.removeItem(atPath: "\(tokens)/\(lock)") }
            let others = try (0..<4).map { _ in try program.worker(2) }
            for worker in others { try await worker.ready() }
            for worker in others { worker.go() }
            held.gate.open()
            let token = try await held.result.value.accessToken
            for worker in others {
                let report = try #require(try await worker.report())
                #expect(report.token == token && report.requests == 0, "\(report)")
            }
            try await program.expectAlive()
        }

        /// T11: programs whose clocks are wrong by a day refresh beside programs with correct clocks.
        @Test(arguments: Provider.Name.allCases)
        func aClockThatIsADayWrongEndsNoSignIn(name: Provider.Name) async throws {
            let program = try Program(at: Provider(name), with: .form)
            _ = try await program.signIn()
            for _ in 1...2 {
                let workers = try [86_400, -86_400, 0, 0].map { offset in
                    try program.worker(0) { ($0.clockOffset, $0.forces) = (offset, offset != 0) }
                }
                let reports = try await program.reports(of: workers)
                #expect(reports.allSatisfy { $0.error == nil && $0.requests <= 1 }, "\(reports)")
                #expect(reports[..<2].allSatisfy { $0.source == "identityProvider" }, "\(reports)")
            }
            try await program.expectAlive()
        }
    }
}
