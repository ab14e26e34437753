// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityClient
import Testing

@testable import DesktopKit

@Suite struct ProblemTests {
    @Test func saysNothingOfWhatThePersonDid() {
        #expect(Problem(CancellationError()) == nil)
        #expect(Problem(AuthenticationError(.interactionSuperseded, "Another sign-in began.")) == nil)
    }

    @Test func givesSupportCodeIdentifierAndTime() throws {
        let id = UUID()
        let now = Date(timeIntervalSince1970: 1_800_000_000)
        let problem = try #require(
            Problem(AuthenticationError(.connectionFailed, "Down.", correlationID: id, timestamp: now))
        )
        #expect(problem.details == "network.connection_failed · \(id) · 2027-01-15T08:00:00Z")
        #expect(problem.full.hasSuffix(problem.details))
        #expect(!problem.text.contains("network."))
    }

    /// The problem does not know whether an account is signed in: it may be the first sign-in that fails.
    @Test(arguments: [AuthenticationError.Code.networkTimedOut, .connectionFailed, .nameNotResolved])
    func claimsNothingAboutTheSignInOffline(_ code: AuthenticationError.Code) throws {
        #expect(!(try #require(Problem(AuthenticationError(code, "Down."))).text.contains("signed in")))
    }

    @Test(arguments: [
        (AuthenticationError.Code.accessDenied, true), (.interactionTimedOut, false),
        (.connectionFailed, false),
    ])
    func knowsADecisionFromAFailure(_ code: AuthenticationError.Code, _ expected: Bool) throws {
        #expect(try #require(Problem(AuthenticationError(code, "Text."))).isDecision == expected)
    }

    @Test(arguments: [
        (AuthenticationError.Code.keyringNoService, true), (.keyringLocked, true), (.cachePermissions, true),
        (.connectionFailed, false), (.invalidArgument, false),
    ])
    func offersToGoOnWithoutTheCache(_ code: AuthenticationError.Code, _ expected: Bool) throws {
        #expect(try #require(Problem(AuthenticationError(code, "Text."))).concernsCache == expected)
    }

    @Test func explainsWhatAnAdministratorHasToDo() throws {
        let problem = try #require(Problem(AuthenticationError(.adminConsentRequired, "AADSTS90094")))
        #expect(problem.text.contains("administrator"))
        #expect(problem.remedy == .none)
    }

    @Test func saysWhenToTryAgain() throws {
        let error = AuthenticationError(.throttled, "Slow down.", retryAfter: .seconds(17))
        #expect(try #require(Problem(error)).text.contains("17 s"))
    }

    @Test(arguments: [
        (AuthenticationError.Code.invalidScope, Problem.Remedy.none), (.redirectUnavailable, .none),
        (.init(rawValue: "network"), .retry), (.init(rawValue: "cache"), .retry), (.signInExpired, .signIn),
        (.claimsChallenge, .signIn), (.init(rawValue: "scopes_declined"), .signIn),
    ])
    func offersTheCommandThatMayHelp(_ code: AuthenticationError.Code, _ expected: Problem.Remedy) throws {
        #expect(try #require(Problem(AuthenticationError(code, "Text."))).remedy == expected)
    }

    @Test func showsTheLibrarysWordsForTheRest() throws {
        #expect(try #require(Problem(AuthenticationError(.cacheFull, "No room."))).text == "No room.")
    }

    /// The library's words are English: people who read another language find them only in what is copied for support.
    @Test(arguments: [AuthenticationError.Code.cacheFull, .accessDenied, .invalidIDToken, .invalidScope])
    func showsNoEnglishWordsOfTheLibraryToOthers(_ code: AuthenticationError.Code) {
        let error = AuthenticationError(code, "Words of the library.")
        #expect(Problem.text(of: error, isEnglish: false) != error.message)
    }

    @Test func keepsTheLibrarysWordsForSupport() throws {
        let problem = try #require(Problem(AuthenticationError(.invalidIDToken, "The signature is missing.")))
        #expect(problem.text == "The provider's answer cannot be used. Tell its administrator.")
        #expect(!problem.full.contains("signature"))
        #expect(problem.forSupport == "\(problem.full)\nThe signature is missing.")
    }

    @Test(arguments: [
        (AuthenticationError.Code.keyringNoService, true), (.keyringNoDefaultCollection, true), (.keyringLocked, false),
    ])
    func knowsWhereThereIsNoKeyring(_ code: AuthenticationError.Code, _ expected: Bool) throws {
        let problem = try #require(Problem(AuthenticationError(code, "Words of the library.")))
        #expect(problem.hasNoKeyring == expected && problem.text != "Words of the library.")
    }
}
