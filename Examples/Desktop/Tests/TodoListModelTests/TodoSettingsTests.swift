// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import DesktopKit
import Foundation
import IdentityClient
import Testing
import TodoListModel

@Suite struct TodoSettingsTests {
    private static let sample: [String: String] = [
        "accountIdentifier": "B2C_Account",
        "clientID": "11111111-2222-4333-8444-555555555555",
        "clientSecret": "",
        "authURL": "https://login.microsoftonline.com/contoso.onmicrosoft.com/oauth2/v2.0/authorize?p=B2C_1_SuSi",
        "loginURL": "https://login.microsoftonline.com/contoso.onmicrosoft.com/login",
        "bhh": "urn:ietf:wg:oauth:2.0:oob",
        "tokenURL": "https://login.microsoftonline.com/contoso.onmicrosoft.com/oauth2/v2.0/token?p=B2C_1_SuSi",
        "keychain": "com.example.Samples",
        "contentType": "application/x-www-form-urlencoded",
        "taskAPI": "https://tasks.example.com/api",
    ]

    private func settings(_ changes: [String: String?] = [:], page: PageChoice = .browser) throws -> TodoSettings {
        var keys = Self.sample
        for (key, value) in changes { keys[key] = value }
        return try settings(try JSONEncoder().encode(keys), page: page)
    }

    private func settings(_ data: Data, page: PageChoice = .browser) throws -> TodoSettings {
        try TodoSettings(data) { try RedirectURI.receivable($0, page: page) }
    }

    @Test func readsAPropertyListAsWellAsJSON() throws {
        let keys = Self.sample.merging(["resetPasswordPolicy": "b2c_1_reset"]) { $1 }
        let encoder = PropertyListEncoder()
        for format in [PropertyListSerialization.PropertyListFormat.xml, .binary] {
            encoder.outputFormat = format
            let settings = try self.settings(try encoder.encode(keys))
            #expect(settings.clientID == "11111111-2222-4333-8444-555555555555")
            #expect(settings.signIn.name == "b2c_1_susi")
            #expect(settings.resetPassword?.name == "b2c_1_reset" && settings.editProfile == nil)
            #expect(settings.cacheGroup?.name == "com.example.samples")
            #expect(settings.redirectURI == .loopback)
            #expect(settings.contentType == .form)
            #expect(settings.scopes == ["11111111-2222-4333-8444-555555555555"])
            #expect(settings.taskAPI.absoluteString == "https://tasks.example.com/api")
        }
        #expect(
            try settings().signIn.authority
                == Authority(url: "https://login.microsoftonline.com/contoso.onmicrosoft.com/?p=B2C_1_SuSi")
        )
    }

    @Test func readsAFile() throws {
        let url = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).plist")
        defer { try? FileManager.default.removeItem(at: url) }
        try PropertyListEncoder().encode(Self.sample).write(to: url)
        let settings = try TodoSettings(contentsOf: url) { try RedirectURI.receivable($0, page: .browser) }
        #expect(settings.signIn.name == "b2c_1_susi" && settings.redirectURI == .loopback)
    }

    @Test func readsTheFileThatIsThereToBeCopied() throws {
        let url = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../TodoList.settings.json")
        let settings = try self.settings(try Data(contentsOf: url.standardizedFileURL))
        #expect(settings.signIn.name == "b2c_1_susi" && settings.resetPassword?.name == "b2c_1_reset")
    }

    @Test(arguments: [
        ("https://contoso.b2clogin.com/contoso.onmicrosoft.com/B2C_1_Edit/oauth2/v2.0/authorize", "b2c_1_edit"),
        ("https://login.example.com/contoso.onmicrosoft.com/Edit", "edit"),
        ("https://login.example.com/tfp/contoso.onmicrosoft.com/b2c_1_edit/", "b2c_1_edit"),
        ("http://localhost:1234/contoso.onmicrosoft.com/b2c_1_edit/", "b2c_1_edit"),
        ("https://login.microsoftonline.com/contoso.onmicrosoft.com/oauth2/v2.0/token?p=b2c_1_edit", "b2c_1_edit"),
    ])
    func findsAPolicyWhereverItIsNamed(url: String, name: String) throws {
        let policy = try B2CPolicy(url: url)
        #expect(policy.name == name)
        let other = try policy.policy(named: "b2c_1_reset")
        #expect(other.name == "b2c_1_reset")
        #expect(try other.policy(named: name).authority == policy.authority && other.authority != policy.authority)
    }

    @Test(
        arguments: [
            (["clientSecret": "hunter2"], "clientSecret must be empty"),
            (["clientID": nil], "clientID is missing."),
            (["taskAPI": ""], "taskAPI is missing."),
            (["taskAPI": "http://tasks.example.com"], "taskAPI must be an https address"),
            (["taskAPI": "http://localhost.example.com"], "taskAPI must be an https address"),
            (
                [
                    "tokenURL":
                        "https://login.microsoftonline.com/contoso.onmicrosoft.com/oauth2/v2.0/token?p=b2c_1_other"
                ],
                "authURL and tokenURL are not those of one policy."
            ),
            (
                ["authURL": "https://login.microsoftonline.com/contoso.onmicrosoft.com/oauth2/v2.0/authorize"],
                "names no B2C policy"
            ),
            (["loginURL": "https://elsewhere.example.com/"], "loginURL is on another host"),
            (["bhh": "https://example.com/back"], "Register http://localhost"),
            (["bhh": "http://localhost:99999"], "Register http://localhost"),
            (["keychain": "a b"], "keychain: The cache group's name"),
            (["contentType": "text/xml"], "contentType must be"),
            (["resetPasswordPolicy": "b2c 1 reset%zz"], "cannot be the name of a policy"),
        ] as [([String: String?], String)]
    )
    func saysWhichKeyIsWrong(changes: [String: String?], words: String) throws {
        let error = try #require(throws: SettingsError.self) { try settings(changes) }
        #expect(error.description.contains(words), "\(error)")
        #expect(!error.description.contains("hunter2"))
    }

    @Test(arguments: ["", "{", "[]", "<plist>", #"{"clientID": 7}"#])
    func saysWhatItReads(text: String) throws {
        let error = try #require(throws: SettingsError.self) { try settings(Data(text.utf8)) }
        #expect(error.description.contains("neither a property list nor JSON"))
    }

    @Test func takesARedirectAddressThatIsRegisteredWithAPort() throws {
        let settings = try settings(["bhh": "http://localhost:8400/back"])
        #expect(try settings.redirectURI == .loopback(host: .localhost, ports: 8400...8400, path: "/back"))
    }

    @Test func takesASchemeOfTheProgramsOwn() throws {
        let url = try #require(URL(string: "msauth.com.example://auth"))
        #expect(try settings(["bhh": "msauth.com.example://auth"]).redirectURI == .custom(url))
    }

    @Test(arguments: ["urn:ietf:wg:oauth:2.0:oob", "msauth.com.example://auth", "https://example.com/back"])
    func takesAnyRedirectAddressWhereThePageIsItsOwn(address: String) throws {
        let url = try #require(URL(string: address))
        #expect(try settings(["bhh": address], page: .embedded).redirectURI == .custom(url))
    }

    @Test func takesLoopbackForWhatItIsWhereThePageIsItsOwn() throws {
        let settings = try settings(["bhh": "http://localhost:8400"], page: .embedded)
        #expect(try settings.redirectURI == .loopback(host: .localhost, ports: 8400...8400))
        #expect(throws: SettingsError.self) { try self.settings(["bhh": "http://example.com"], page: .embedded) }
        #expect(throws: SettingsError.self) { try self.settings(["bhh": "back"], page: .embedded) }
    }
}
