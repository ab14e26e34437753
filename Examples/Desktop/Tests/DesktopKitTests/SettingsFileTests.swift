// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import DesktopKit
import Foundation
import Testing

@Suite struct SettingsFileTests {
    private static let plist = """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <plist version="1.0"><dict>
            <key>clientId</key><string>abc</string>
            <key>sharedDeviceMode</key><true/>
            <key>empty</key><string>  </string>
            <key>list</key><array/>
        </dict></plist>
        """

    @Test(arguments: [
        plist, #" {"clientId": "abc", "sharedDeviceMode": true, "empty": "  ", "list": []}"#,
        #"{"clientId": "abc", "sharedDeviceMode": "Yes"}"#,
    ])
    func readsBothForms(_ text: String) throws {
        let file = try SettingsFile(Data(text.utf8), path: "s")
        #expect(file["clientId"] == "abc")
        #expect(try file.flag("sharedDeviceMode") == true)
        #expect(file["empty"] == nil)
        #expect(file["list"] == nil)
        #expect(try file.flag("other") == nil)
    }

    @Test(arguments: ["", "[]", "no settings", #"{"clientId": "#, "<plist>"])
    func refusesEverythingElse(_ text: String) {
        #expect(throws: ValidationFailure.self) { try SettingsFile(Data(text.utf8), path: "s") }
    }

    @Test func refusesAWordForATruthValue() throws {
        let file = try SettingsFile(Data(#"{"sharedDeviceMode": "perhaps"}"#.utf8), path: "s")
        #expect(throws: ValidationFailure("s: sharedDeviceMode is true or false, not “perhaps”.")) {
            try file.flag("sharedDeviceMode")
        }
    }

    @Test func namesTheFileThatCannotBeRead() {
        #expect(throws: ValidationFailure("The settings file /nowhere/s.json cannot be read.")) {
            try SettingsFile(path: "/nowhere/s.json")
        }
    }
}
