// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Testing

@testable import DesktopKit

@Suite struct TranslationTests {
    @Test(arguments: [
        ("{0} of {1}", ["3", "9"], "3 of 9"),
        ("{1} before {0}", ["a", "b"], "b before a"),
        ("{0}", ["{1}", "no"], "{1}"),
        ("{2} is no place, nor is {x}, nor {", ["a"], "{2} is no place, nor is {x}, nor {"),
        ("", ["a"], ""),
    ])
    func fillsPlaces(_ text: String, _ values: [String], _ expected: String) {
        #expect(Translation.filled(text, values) == expected)
    }

    @Test func speaksEnglishWithoutTranslations() {
        #expect(tr("Signed in as {0}", "Zoë") == "Signed in as Zoë")
    }
}
