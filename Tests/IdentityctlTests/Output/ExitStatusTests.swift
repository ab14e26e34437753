// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import Testing

@testable import identityctl

@Suite struct ExitStatusTests {
    typealias Code = AuthenticationError.Code
    typealias ExitStatus = identityctl.ExitStatus

    static let table: [(ExitStatus, [Code])] = [
        (
            .interactionRequired,
            [
                .interactionRequired, .noTokensFound, .loginRequired, .consentRequired, .adminConsentRequired,
                .signInExpired, .passwordResetRequired, .accountSelectionRequired, .accountRemoved, .claimsChallenge,
                .insufficientScope, .insufficientUserAuthentication, .accountMismatch,
            ]
        ),
        (
            .unavailable,
            [
                .serverUnavailable, .throttled, .requestLoop, .network, .networkTimedOut, .networkNotAllowed,
                .nameNotResolved, .connectionFailed, .proxyFailed, .transportUnavailable,
            ]
        ),
        (
            .cacheUnavailable,
            [
                .cache, .cacheCorrupt, .cachePermissions, .cacheBusy, .cacheFull, .cacheNewerVersion,
                .cacheKeyUnavailable, .cacheUndecryptable, .keyringLibraryMissing, .keyringNoSessionBus,
                .keyringNoService, .keyringNoDefaultCollection, .keyringLocked, .keyringAccessDenied,
                .keyringPromptDismissed, .keyringTimedOut,
            ]
        ),
        (
            .notBelieved,
            [
                .invalidResponse, .malformedResponse, .stateMismatch, .invalidIDToken, .untrustedAuthority, .tlsFailed,
            ]
        ),
        (
            .cancelled,
            [.userCancelled, .interactionTimedOut, .interactionSuperseded, .interactionInProgress]
        ),
        (.browserUnavailable, [.interactionUnavailable, .browserUnavailable]),
        (
            .refused,
            [
                .accessDenied, .scopesDeclined, .clientNotRegistered, .invalidScope, .invalidTarget, .blockedByPolicy,
            ]
        ),
        (.usage, [.invalidArgument]),
        (
            .other,
            [
                .configuration, .redirectUnavailable, .fileUnavailable, .brokerUnavailable, .accountInAnotherCloud,
                .unsupported,
            ]
        ),
    ]

    @Test(arguments: table.flatMap { status, codes in codes.map { (status, $0) } })
    func tellsTheShellWhatAnErrorMeans(status: ExitStatus, code: Code) {
        #expect(ExitStatus(for: AuthenticationError(code, "")) == status)
    }

    @Test func coversEveryCode() {
        let codes = Self.table.flatMap(\.1)
        #expect(codes.count == 64)
        #expect(Set(codes).count == codes.count)
    }

    @Test func goesByTheFirstLevelOfACodeItDoesNotKnow() {
        #expect(ExitStatus(for: Code(rawValue: "network.new")) == .unavailable)
        #expect(ExitStatus(for: Code(rawValue: "interaction_required.new")) == .interactionRequired)
        #expect(ExitStatus(for: Code(rawValue: "new")) == .other)
    }

    @Test func hasAStatusForWhatIsNoErrorOfTheLibrary() {
        #expect(ExitStatus(for: CancellationError()) == .cancelled)
        #expect(ExitStatus(for: UsageError("")) == .usage)
        #expect(ExitStatus(for: SystemFailure("", number: 28)) == .other)
        #expect(ExitStatus(for: CommandFailure(description: "", isNotFound: true)) == .commandNotFound)
        #expect(ExitStatus(for: CommandFailure(description: "", isNotFound: false)) == .commandNotStarted)
    }

    @Test func numbersTheStatusesAsDocumented() {
        #expect(ExitStatus.allCases.map(\.rawValue) == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 22, 64, 126, 127])
    }
}
