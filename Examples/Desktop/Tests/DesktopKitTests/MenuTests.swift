// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Testing

@testable import DesktopKit

@Suite struct MenuTests {
    /// GTK reads one underscore as a mnemonic and two as an underscore.
    @Test func showsTheUnderscoresOfAName() {
        #expect(MenuButton.Item.choice("_a_b__c", "account", "1").text == "__a__b____c")
        #expect(MenuButton.Item.action("_Quit", "quit").text == "_Quit")
    }
}
