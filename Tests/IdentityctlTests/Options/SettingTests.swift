// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Testing

@testable import identityctl

/// The table of settings, against the options that the parser knows.
@Suite struct SettingTests {
    private static let names = Setting.ofToken.map(\.name)

    private func setting(_ name: String) throws -> Setting {
        try #require(Setting.ofToken.first { $0.name == name })
    }

    private func words(_ setting: Setting) -> [String] {
        setting.kind == .switch ? [setting.option] : [setting.option, "value"]
    }

    private func groups(_ command: TokenCommand) -> OptionGroups {
        OptionGroups(
            provider: command.provider,
            token: command.token,
            account: command.account,
            scheme: command.scheme,
            silent: command.silent,
            output: command.output
        )
    }

    /// A row reads and sets its own option, and no other.
    @Test(arguments: names) func readsAndSetsItsOption(name: String) throws {
        let setting = try setting(name)
        let given = groups(try TokenCommand.parse(words(setting)))
        #expect(Setting.ofToken.filter(given.isGiven).map(\.name) == [name])
        #expect(setting.kind == .switch || given.values(of: setting) == ["value"])
        var made = groups(try TokenCommand.parse([]))
        made.add("value", to: setting)
        #expect(Setting.ofToken.filter(made.isGiven).map(\.name) == [name])
        made.clear(setting)
        #expect(!made.isGiven(setting))
    }

    @Test(arguments: Setting.ofPage.map(\.name)) func readsTheOptionsOfThePage(name: String) throws {
        let setting = try #require(Setting.ofPage.first { $0.name == name })
        let command = try LoginCommand.parse(words(setting))
        let given = OptionGroups(signIn: command.signIn, browser: command.browser)
        #expect(Setting.ofPage.filter(given.isGiven).map(\.name) == [name])
    }

    /// Advice repeats each option of the client.
    @Test(arguments: (Setting.ofProvider + Setting.ofRequest).map(\.name)) func standsInAdvice(name: String) throws {
        let setting = try setting(name)
        let command = try TokenCommand.parse(words(setting))
        #expect(
            command.sharedOptions.words
                == [setting.kind == .switch ? setting.option : "\(setting.option)=value"]
        )
    }

    @Test func hasEachNameOnce() {
        #expect(Set(Setting.all.map(\.name)).count == Setting.all.count)
    }
}
