// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import OAuthWire
import Testing

@testable import IdentityKeyring
@testable import identityctl

/// The doctor's findings on the keyring and the clock.
@Suite struct ExaminationTests {
    @Test(arguments: [
        (false, false, Finding.State.ok, nil),
        (true, false, .lack, "Unlock it"),
        (false, true, .lack, "Confirm when passwords are retrieved"),
    ])
    func reportsAKeyringThatGivesOutNothing(
        isLocked: Bool,
        hasLockedItems: Bool,
        state: Finding.State,
        advice: String?
    ) throws {
        let status = KeyringStatus(
            provider: "keepassxc",
            collection: "Passwords",
            isLocked: isLocked,
            hasLockedItems: hasLockedItems
        )
        let finding = try #require(Examination.keyring(.success(status)).last)
        #expect(finding.check == "collection" && finding.state == state)
        #expect(advice.map { finding.advice?.contains($0) == true } ?? (finding.advice == nil))
    }

    /// KeePassXC's database has no name by default.
    @Test func namesACollectionWithoutAName() {
        let status = KeyringStatus(provider: "keepassxc", collection: "", isLocked: false, hasLockedItems: false)
        #expect(Examination.keyring(.success(status)).last?.found == "the default collection is unlocked")
    }

    /// The bus is asked itself.
    @Test func blamesNoBusThatAnswers() {
        let error = AuthenticationError(.keyringTimedOut, "Its reason.")
        let findings = Examination.keyring(.failure(error), busAnswers: true)
        #expect(findings.map(\.state) == [.ok, .lack, .unknown])
    }

    /// An error, and the states of the session bus, the secret service and the collection.
    @Test(arguments: [
        (AuthenticationError.Code.keyringLibraryMissing, [Finding.State.unknown, .lack, .unknown]),
        (.keyringNoSessionBus, [.lack, .unknown, .unknown]), (.keyringNoService, [.ok, .lack, .unknown]),
        (.keyringNoDefaultCollection, [.ok, .ok, .lack]), (.keyringTimedOut, [.unknown, .lack, .unknown]),
        (.keyringAccessDenied, [.unknown, .lack, .unknown]),
    ])
    func blamesWhatTheErrorIsAbout(_ code: AuthenticationError.Code, _ states: [Finding.State]) {
        let findings = Examination.keyring(.failure(AuthenticationError(code, "Its reason.")))
        #expect(findings.map(\.check) == ["session bus", "secret service", "collection"])
        #expect(findings.map(\.state) == states)
        #expect(findings.status == .cacheUnavailable)
        #expect(findings.compactMap(\.advice) == ["Its reason."])
    }

    /// The seconds that this computer's clock is ahead.
    @Test(arguments: [
        (0, Finding.State.ok, "as the provider's"), (60, .ok, "60 s ahead of the provider's"),
        (61, .lack, "61 s ahead of the provider's"), (-61, .lack, "61 s behind the provider's"),
    ])
    func findsAClockThatIsMoreThanAMinuteWrong(_ ahead: Int64, _ state: Finding.State, _ found: String) {
        let finding = Examination.clock(.success(1_700_000_000), ours: 1_700_000_000 + ahead)
        #expect(finding.state == state && finding.found == found)
        #expect(finding.status == (state == .ok ? .done : .notBelieved))
    }

    /// An agent goes on after an upgrade, until it is ended.
    @Test(
        arguments: [
            ("0.0.9", "version 0.0.9"), (nil, "an older version"), (LibraryVersion.current, nil),
        ] as [(String?, String?)]
    )
    func tellsAnAgentOfAnotherVersion(_ version: String?, _ words: String?) throws {
        var status = AgentAnswer.success([("locked", .bool(false)), ("profiles", .strings([]))])
        status["version"] = version.map { .string($0) }
        let found = Examination.agent(at: "/s", .success(status)).found
        #expect(found.contains("identityctl agent stop") == (words != nil) && found.contains(words ?? "no profiles"))
    }
}
