// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import Testing

@Suite struct ErrorCodeTests {
    @Test func primaryCodeMatchesItsSecondLevels() {
        #expect(AuthenticationError.Code.interactionRequired ~= .consentRequired)
        #expect(!(AuthenticationError.Code.consentRequired ~= AuthenticationError.Code.interactionRequired))
        #expect(!(AuthenticationError.Code.network ~= AuthenticationError.Code.consentRequired))
    }

    @Test(arguments: [AuthenticationError.Code.browserUnavailable, .interactionInProgress])
    func keepsWhatCouldNotBeShownApartFromWhatThePersonEnded(code: AuthenticationError.Code) {
        #expect(!(AuthenticationError.Code.userCancelled ~= code) && .interactionUnavailable ~= code)
    }

    @Test func asksForAnotherSignInAfterTheWrongAccountAndReportsTheWrongAnswer() {
        #expect(AuthenticationError.Code.interactionRequired ~= .accountMismatch)
        #expect(AuthenticationError.Code.invalidResponse ~= .invalidResponse)
    }

    @Test func anErrorOfAFamilyAloneSaysNoMore() {
        let family = AuthenticationError.Family.cache
        let error = AuthenticationError(family, "There is no room.", retryAfter: .seconds(1))
        #expect(error.family == family && error.code.rawValue == "cache" && error.retryAfter == .seconds(1))
        #expect(AuthenticationError(.consentRequired, "Sign in.").family == .interactionRequired)
        #expect(AuthenticationError(.init(rawValue: "own.code"), "A program's own.").family == .configuration)
    }

    @Test func catchesByPattern() {
        do {
            throw AuthenticationError(.signInExpired, "Sign in again.")
        } catch AuthenticationError.Code.network {
            Issue.record("matched another code")
        } catch AuthenticationError.Code.interactionRequired {
        } catch {
            Issue.record("did not match")
        }
    }
}
