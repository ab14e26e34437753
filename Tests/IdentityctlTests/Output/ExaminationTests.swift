// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Testing

@testable import IdentityKeyring
@testable import identityctl

/// The doctor's report on the keyring's status.
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
}
