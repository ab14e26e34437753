// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityCacheTesting
import IdentityClient
import IdentityTesting
import Testing

extension EndToEnd {
    /// Processes that share a sign-in at real providers, which accept a refresh token once.
    @Suite struct SharedSignInTests {
        /// T1 at a provider from another project. The second round shows that the sign-in survived the first.
        @Test(arguments: Provider.Name.allCases)
        func twentyProcessesShareOneRefresh(name: Provider.Name) async throws {
            let program = try Program(at: Provider(name), with: .form)
            _ = try await program.signIn()
            for round in 1...2 {
                let workers = try (0..<20).map { _ in try program.worker(round) }
                let reports = try await program.reports(of: workers)
                #expect(reports.allSatisfy { $0.error == nil }, "\(reports.compactMap(\.error)), round \(round)")
                #expect(Set(reports.map(\.token)).count == 1, "round \(round)")
                #expect(reports.count { $0.source == "identityProvider" } == 1, "round \(round)")
            }
        }

        /// T2 for deaths that lose no token: the next process goes on.
        @Test(arguments: Provider.Name.allCases, ["after-lease", "before-request", "after-write", "before-release"])
        func aDeathDoesNotEndTheSignIn(name: Provider.Name, point: String) async throws {
            let program = try Program(at: Provider(name), with: .form)
            _ = try await program.signIn()
            try await program.killWorker(at: point)
            for round in 1...2 {
                let report = try await program.report(round)
                #expect(report.error == nil && report.token != nil, "\(report), round \(round)")
            }
        }

        /// T5: all callers of a process give up, at random moments. The provider sees no difference: a second request
        /// with the same refresh token would end the sign-in.
        @Test(arguments: Provider.Name.allCases)
        func callersThatGiveUpLeaveTheOthersTheirToken(name: Provider.Name) async throws {
            let program = try Program(at: Provider(name), with: .form)
            _ = try await program.signIn()
            var (cancellations, round) = (0, 0)
            // On a busy machine all may have their token before the first caller gives up: then there are more rounds.
            while round < 3 || cancellations == 0 {
                let milliseconds = [0, 5, 20][round % 3]
                round += 1
                let leaver = try program.worker(round) { $0.rounds = 3 }
                let others = try (0..<4).map { _ in try program.worker(round) }
                for worker in [leaver] + others { try await worker.ready() }
                for worker in [leaver, leaver] + others { worker.go() }
                try await Task.sleep(for: .milliseconds(milliseconds))  // the moment is what is tried
                for caller in 0...1 {
                    leaver.cancel()
                    let report = try #require(try await leaver.report(caller))
                    if report.error == "CancellationError" { cancellations += 1 } else { #expect(report.error == nil) }
                }
                leaver.go()
                var reports = [try #require(try await leaver.report(2))]
                for other in others { reports.append(try #require(try await other.report())) }
                #expect(reports.allSatisfy { $0.error == nil }, "\(reports.compactMap(\.error)), round \(round)")
                #expect(Set(reports.map(\.token)).count == 1, "round \(round)")
            }
        }

        /// T13: two programs ask again and again after the provider has ended the sign-in. The first answer is
        /// remembered for both of them.
        @Test(arguments: Provider.Name.allCases)
        func aLoopOfFiveHundredSendsOneRequest(name: Provider.Name) async throws {
            let program = try Program(at: Provider(name), with: .form)
            try await program.sufferTheft(from: program.signIn().account)
            let workers = try (0..<2).map { _ in try program.worker(2) { $0.times = 500 } }
            for worker in workers { worker.go() }
            var requests = 0
            for worker in workers {
                let report = try #require(try await worker.report())
                #expect(report.failures == 500)
                #expect(report.error == AuthenticationError.Code.signInExpired.rawValue)
                #expect((1...60).contains(try #require(report.retryAfter)))
                requests += report.requests
            }
            #expect(requests == 1)
        }
    }
}
