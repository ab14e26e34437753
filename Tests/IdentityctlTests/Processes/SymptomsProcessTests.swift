// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import IdentityTestSupport
import IdentityTesting
import Testing

@testable import identityctl

/// `Docs/symptoms.md`: each symptom's first command, run against the broken thing, names the fault or ends it.
@Suite(.timeLimit(.minutes(1))) struct SymptomsProcessTests {
    /// The test of each symptom: here, or in the named file.
    private static let tests = [
        "git asks for a password": "namesTheEndOfASignInEverywhere",
        "docker says unauthorized or denied": "namesTheEndOfASignInEverywhere",
        "pip, uv, cargo, pnpm, kubectl or aws get no token": "DoctorBreakageTests/namesAProgramThatIsGone",
        "The AI program says that the server needs authentication": "ResourceProcessTests/tellsEachStepOfTheSearch",
        "The AI program does not start the server": "namesAnEntryThatCannotStart",
        "The server does not know the client any more":
            "DoctorBreakageTests/namesARegistrationThatTheServerHasForgotten",
        "Mail: msmtp, mutt, mbsync or aerc cannot sign in": "namesTheEndOfASignInEverywhere",
        "Status 2: a person is needed": "namesTheEndOfASignInEverywhere",
        "Status 3: network or server unavailable": "namesAProviderThatIsAway",
        "Status 4: the token store is unavailable": "namesTheStoreThatIsMissing",
        "Status 5: an answer was not believed": "DoctorProcessTests/saysThatTheProvidersCertificateIsNotTrusted",
        "Status 7: access denied": "recordsWhatTheProviderSaid",
        "Status 8: no browser can be opened": "DeviceProcessTests/signsInWithACodeThatIsTypedElsewhere",
        "Status 9: several accounts": "choosesAnAccount",
        "Status 64: wrong usage": "namesTheLineOfAProfile",
        "The browser ends at a page that cannot be shown": "TroubleProcessTests/signsInWithAPastedAddress",
        "It is the wrong person": "ProfileAccountProcessTests/givesAProfileToAnotherPersonAfterALogout",
        "The profile is not used": "namesTheLineOfAProfile",
        "The agent gives no token": "AgentProcessTests/locksUnlocksAndEnds",
    ]

    /// The page's sections, the first of which has no heading.
    private static func sections() throws -> [(heading: String, text: String)] {
        let root = #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
        let page = String(decoding: try Data(contentsOf: URL(filePath: "/\(root)/Docs/symptoms.md")), as: UTF8.self)
        return page.components(separatedBy: "\n## ").dropFirst().map { section in
            let lines = section.components(separatedBy: "\n")
            return (lines[0], lines.dropFirst().joined(separator: "\n"))
        }
    }

    /// Starts a symptom's first command, as it stands on the page.
    ///
    /// - Parameter wanted: Puts the test's addresses in place of the page's.
    private func start(_ symptom: String, _ person: Person, _ wanted: (String) -> String = { $0 }) throws -> Tool {
        let text = try #require(try Self.sections().first { $0.heading == symptom }?.text)
        let command = try #require(text.firstMatch(of: /```sh\n(identityctl [^\n]+)\n/)?.1, "\(symptom)")
        return try Tool(advised: wanted(String(command)), person.variables)
    }

    private func run(_ symptom: String, _ person: Person, _ wanted: (String) -> String = { $0 }) async throws
        -> Tool.Outcome
    {
        try await start(symptom, person, wanted).outcome()
    }

    @Test func everySymptomHasATest() throws {
        #expect(try Set(Self.sections().map(\.heading)) == Set(Self.tests.keys))
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
        for test in Self.tests.values {
            let parts = test.split(separator: "/").map(String.init)
            let file = parts.count > 1 ? parts[0] : "SymptomsProcessTests"
            let text = String(decoding: try Data(contentsOf: folder.appending(path: "\(file).swift")), as: UTF8.self)
            #expect(text.contains("func \(parts[parts.count - 1])("), "\(test)")
        }
    }

    /// In a block or in a line, with all its options.
    @Test func everyCommandOfThePageExists() throws {
        let text = try Self.sections().map(\.text).joined(separator: "\n")
        let lines = text.matches(of: /(?m)^identityctl [^\n]+$/).map { String($0.0) }
        let words = text.matches(of: /`(identityctl [^`]+)`/).map { String($0.1).replacing("\n", with: " ") }
        #expect(lines.count > 18 && words.count > 10)
        for command in lines + words {
            let arguments = command.split(separator: " ").map(String.init).dropFirst().filter { !$0.hasPrefix(">") }
            #expect(throws: Never.self, "\(command)") { try Identityctl.parseAsRoot(arguments) }
        }
    }

    @Test func namesTheEndOfASignInEverywhere() async throws {
        let person = try await Person(serves: "https://git.example.test")
        try await person.addProfile("mail", serves: [])
        #expect(try await person.run(["profile", "default", "work"]).status == 0)
        #expect(try await person.integrate("git", "--profile", "work").status == 0)
        // Each token is over after a second.
        person.setup.provider.failAlways(.token, with: .changing("expires_in", to: "1"))
        for profile in ["work", "mail"] { try await person.login(profile) }
        person.setup.provider.failAlways(.token, with: nil)
        person.setup.provider.revokeSessions(of: .alice)
        let isOver = try await eventually { try await person.run(["token", "--profile", "mail"]).status == 2 }
        try #require(isOver)
        for (symptom, profile) in [
            ("docker says unauthorized or denied", "work"),
            ("Mail: msmtp, mutt, mbsync or aerc cannot sign in", "mail"),
        ] {
            let outcome = try await run(symptom, person)
            #expect(outcome.status == 2, "\(outcome)")
            #expect(outcome.errorLines.last == "To sign in, run: identityctl login --profile \(profile)", "\(outcome)")
        }
        let doctor = try await run("git asks for a password", person)
        let git = try #require(doctor.output.firstRange(of: "\ngit  "))
        let row = doctor.output[git.upperBound...]
        #expect(row.contains("lack") && row.contains("identityctl login --profile work"), "\(doctor)")
        let accounts = try await run("Status 2: a person is needed", person)
        for profile in ["work", "mail"] {
            #expect(accounts.output.contains("identityctl login --profile \(profile)\n"), "\(accounts)")
        }
    }

    @Test func namesAnEntryThatCannotStart() async throws {
        let person = try await Person()
        let outcome = try await run("The AI program does not start the server", person) {
            $0.replacing("https://mcp.example.com", with: "http://127.0.0.1:9")
        }
        #expect(outcome.status != 0 && outcome.errors.contains("127.0.0.1:9"), "\(outcome)")
        #expect(outcome.errors.contains("There was no sign-in. To try again, run: identityctl login"), "\(outcome)")
    }

    @Test func namesAProviderThatIsAway() async throws {
        let person = try await Person()
        person.setup.provider.close()
        let outcome = try await run("Status 3: network or server unavailable", person)
        #expect(outcome.output.contains(/provider +lack +http.*\n +No connection/), "\(outcome)")
    }

    @Test func namesTheStoreThatIsMissing() async throws {
        let person = try await Person()
        let profile = ".config/identityctl/profiles/work.conf"
        try person.write(
            try #require(person.text(profile)).replacing(/cache = .*\n/, with: ""),
            to: profile
        )
        #expect(try await person.run(["login", "--profile", "work"]).status == 4)
        let outcome = try await run("Status 4: the token store is unavailable", person)
        #expect(outcome.output.contains("lack  there is none"), "\(outcome)")
    }

    @Test func recordsWhatTheProviderSaid() async throws {
        let person = try await Person()
        person.setup.provider.settings.consentScopes = ["files.read"]
        let tool = try start("Status 7: access denied", person)
        try await ScriptedBrowser(provider: nil, behaviour: .deny).visit(try await tool.shownAddress())
        let outcome = try await tool.outcome()
        #expect(outcome.status == 7 && outcome.errors.contains("The server said: access_denied"), "\(outcome)")
        #expect(person.text("sign-in.json")?.contains("access_denied") == true)
    }

    @Test func choosesAnAccount() async throws {
        let person = try await Person()
        try await person.login()
        try await person.login(as: .bob)
        let outcome = try await run("Status 9: several accounts", person) {
            $0.replacing("example.com", with: "example.test")
        }
        #expect(outcome.status == 0 && outcome.errors.contains("is the default account."), "\(outcome)")
        #expect(try await person.run(["token", "--profile", "work"]).status == 0)
    }

    @Test func namesTheLineOfAProfile() async throws {
        let person = try await Person()
        try await person.addProfile("other", serves: [])
        #expect(try await person.run(["profile", "default", "other"]).status == 0)
        #expect(try await run("The profile is not used", person).output.contains(/other\t.*\tdefault\n/))
        try person.write("client-id = a\nscoep = b\n", to: ".config/identityctl/profiles/work.conf")
        let outcome = try await run("Status 64: wrong usage", person)
        #expect(outcome.status == 64 && outcome.errors.contains("work.conf:2: 'scoep'"), "\(outcome)")
    }
}
