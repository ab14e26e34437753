// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import OAuthWire
import Testing

@testable import identityctl

/// Tokens of GNOME Online Accounts, of which a stand-in is on a bus of its own.
@Suite(.enabled(if: keyringSupport != nil, "run Scripts/test-keyring"), .timeLimit(.minutes(1)))
struct GNOMEAccountsProcessTests {
    /// A person with the profile `mail`, and the bus.
    private func person(_ desktop: DesktopSetup, _ lines: String...) async throws -> Person {
        var person = try await Person()
        person.variables["DBUS_SESSION_BUS_ADDRESS"] = desktop.variables["DBUS_SESSION_BUS_ADDRESS"]
        let text = (["source = gnome-online-accounts"] + lines).map { "\($0)\n" }.joined()
        try person.write(text, to: ".config/identityctl/profiles/mail.conf")
        return person
    }

    /// - Parameter accounts: See `Tests/Support/keyring/fake-accounts`.
    private func desktop(_ accounts: String...) throws -> DesktopSetup {
        let desktop = try DesktopSetup()
        let words = accounts.map { "'\($0)'" }.joined(separator: " ")
        _ = try desktop.command(
            "'\(keyringSupport ?? "")/fake-accounts' \(words) >'\(desktop.tool.directory.path)/accounts' 2>&1 & "
                + "gdbus wait --session --timeout 30 org.gnome.OnlineAccounts"
        )
        return desktop
    }

    @Test func givesTheTokenOfTheOnlyAccountOrTheNamedOne() async throws {
        let desktop = try desktop("a@gmail.test=good", "b@gmail.test=good", "c@imap.test=password")
        let person = try await person(desktop)
        let several = try await person.run(["token", "--profile", "mail"])
        #expect(
            several.status == 9 && several.errors.contains("several accounts: a@gmail.test, b@gmail.test"),
            "\(several)"
        )
        #expect(try await person.run(["profile", "set", "mail", "account=B@gmail.test"]).status == 0)
        for arguments in [
            ["token", "--profile", "mail"], ["exec", "--profile", "mail", "--", "sh", "-c", "echo $BEARER_TOKEN"],
        ] {
            let outcome = try await person.run(arguments)
            #expect(
                outcome.status == 0 && outcome.output == "b@gmail.test-T1\n" && outcome.errors.isEmpty,
                "\(outcome)"
            )
        }
        let report = try await person.run(["token", "--profile", "mail", "--json"])
        let object = try JSONObject(parsing: Array(report.output.utf8))
        #expect(object.string("accessToken") == "b@gmail.test-T1", "\(report)")
        #expect(object.object("account")?.string("username") == "b@gmail.test", "\(report)")
        let helper = try await person.run(["helper", "xoauth2", "--profile", "mail", "--user", "b@gmail.test"])
        let response = Data(base64Encoded: helper.output.trimmingCharacters(in: .newlines))
        #expect(response == Data("user=b@gmail.test\u{1}auth=Bearer b@gmail.test-T1\u{1}\u{1}".utf8), "\(helper)")
        let forced = try await person.run(["token", "--profile", "mail", "--force-refresh"])
        #expect(forced.output == "b@gmail.test-T2\n", "\(forced)")
        let found = try await person.finding("profile mail")
        #expect(found?.string("found") == "b@gmail.test, signed in by GNOME Online Accounts", "\(found?.line ?? "")")
    }

    @Test(arguments: [
        ("a@gmail.test=ended", 2, "open the desktop's Settings, Online Accounts"),
        ("a@gmail.test=refused", 2, "open the desktop's Settings, Online Accounts"),
        ("a@gmail.test=away", 3, "Cannot resolve hostname"), ("a@imap.test=password", 2, "has no account"),
    ])
    func saysWhatToDo(_ account: String, _ status: Int32, _ words: String) async throws {
        let desktop = try desktop(account)
        let person = try await person(desktop, "account = \(account.split(separator: "=")[0])")
        let refused = try await person.run(["token", "--profile", "mail"])
        #expect(refused.status == status && refused.errors.contains(words) && refused.output.isEmpty, "\(refused)")
        #expect(!refused.errors.contains("identityctl login"), "\(refused)")
    }

    @Test func saysThatTheServiceIsMissing() async throws {
        let person = try await person(try DesktopSetup())
        let missing = try await person.run(["token", "--profile", "mail"])
        #expect(missing.status == 4 && missing.errors.contains("apt install gnome-online-accounts"), "\(missing)")
        let other = try await person.run(["profile", "set", "mail", "source=kde"])
        #expect(other.status == 64 && other.errors.contains("Possible is: gnome-online-accounts."), "\(other)")
    }
}
