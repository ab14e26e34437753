// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Testing

@testable import DesktopKit

@Suite struct MenuTests {
    /// GTK takes one underscore for the mark of a key, and two for one.
    @Test func showsTheUnderscoresOfAName() {
        #expect(MenuButton.Item.choice("_a_b__c", "account", "1").text == "__a__b____c")
        #expect(MenuButton.Item.action("_Quit", "quit").text == "_Quit")
    }
}
