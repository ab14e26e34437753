// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import IdentityWebView

/// The keyboard of the display. Key presses go to the window with the focus.
enum Keyboard {
    /// Gives the focus to the window with this title, as a window manager would.
    static func focus(_ title: String) throws {
        try xdotool("search", "--sync", "--onlyvisible", "--name", "^\(title)$", "windowfocus")
    }

    static func type(_ text: String) throws { try xdotool("type", "--delay", "20", text) }

    static func press(_ keys: String...) throws { try xdotool(["key", "--delay", "20"] + keys) }

    private static func xdotool(_ arguments: String...) throws { try xdotool(arguments) }

    private static func xdotool(_ arguments: [String]) throws {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/xdotool")
        process.arguments = arguments
        try process.run()
        process.waitUntilExit()
        #expect(process.terminationStatus == 0)
    }
}

extension PageWindow {
    /// Presses the Tab key until a field has the focus; the header's buttons come before the page's fields.
    func tab(to field: String) async throws {
        for _ in 1...8 {
            try Keyboard.press("Tab")
            // The key press and the question for the focus take different paths to the page.
            for _ in 1...40 {
                if try await run("document.activeElement.id") == field { return }
                try await Task.sleep(for: .milliseconds(20))
            }
        }
        Issue.record("The field \(field) is not reached with the tabulator key.")
    }
}
