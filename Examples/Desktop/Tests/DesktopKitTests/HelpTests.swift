// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import FoundationXML
import Testing

@testable import DesktopKit

@Suite struct HelpTests {
    @Test func describesEachKeyWithItsTitle() throws {
        let text = ShortcutsWindow.description(of: [
            Shortcut(title: "Cut & <paste>", keys: ["<Control>g", "F5"]), Shortcut(title: "Quit", keys: ["<Control>q"]),
        ])
        let document = try XMLDocument(xmlString: text)
        let shortcuts = try document.nodes(forXPath: "//object[@class='GtkShortcutsShortcut']")
        let properties = try shortcuts.map { try $0.nodes(forXPath: "property").compactMap(\.stringValue) }
        #expect(properties == [["<Control>g F5", "Cut & <paste>"], ["<Control>q", "Quit"]])
    }
}
