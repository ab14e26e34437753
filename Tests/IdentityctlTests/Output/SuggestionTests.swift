// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Testing

@testable import identityctl

@Suite struct SuggestionTests {
    @Test(arguments: [
        ("lgoin", "login"), ("accouts", "accounts"), ("scop", "scope"), ("podmn", "podman"), ("prof", "profile"),
        ("Login", "login"), ("wrok", "work"),
    ])
    func findsTheNearestName(word: String, name: String) {
        let names = ["accounts", "login", "logout", "podman", "profile", "scope", "work"]
        #expect(Suggestion.nearest(to: word, among: names) == name)
    }

    @Test(arguments: ["", "x", "banana", "zz", String(repeating: "login", count: 20)])
    func findsNoneThatIsFar(word: String) {
        #expect(Suggestion.text(for: word, among: ["login", "logout", "profile"]) == "")
    }

    @Test(arguments: [
        (["lgoin"], "Did you mean 'login'?"), (["profile", "lst"], "Did you mean 'list'?"),
        (["agent", "start"], "Did you mean 'run'?"),
        (["cache", "mvoe"], "of 'identityctl cache'. Did you mean 'move'?"),
        (["--profile", "x", "token"], "identityctl token --profile x"),
        (["login", "--client-secret=a"], "IDENTITYCTL_CLIENT_SECRET"), (["banana"], "'identityctl help' lists them"),
    ])
    func refusesACommandThatIsNone(words: [String], hint: String) throws {
        let error = try #require(throws: ValidationError.self) {
            try MistypedCommand.check(words, of: Identityctl.self)
        }
        #expect("\(error)".contains(hint), "\(error)")
    }

    @Test(arguments: [
        [], ["--version"], ["login"], ["agent"], ["agent", "--socket", "x"], ["exec", "--", "--client-secret"],
        ["cache"], ["help", "token"], ["call", "https://api.example.com"], ["--help"],
    ])
    func letsTheOthersPass(words: [String]) throws {
        try MistypedCommand.check(words, of: Identityctl.self)
    }

    @Test func knowsProgramsThatReadAnothersSettings() throws {
        for name in ["podman", "skopeo", "buildah", "containers"] {
            #expect(try IntegratedTool.named(name).name == "containers")
        }
        let error = try #require(throws: UsageError.self) { try IntegratedTool.named("dockr") }
        #expect(error.message.contains("Did you mean 'docker'?"))
    }

    @Test(arguments: [
        ("IDENTITYCTL_CLIENTID", "IDENTITYCTL_CLIENT_ID"), ("IDENTITYCTL_ISUER", "IDENTITYCTL_ISSUER"),
        ("IDENTITYCTL_SCOPES", "IDENTITYCTL_SCOPE"), ("IDENTITYCTL_client_id", "IDENTITYCTL_CLIENT_ID"),
        ("IDENTITYCTL_CA-FILE", "IDENTITYCTL_CA_FILE"), ("IDENTITYCTL_AWS_ROLEARN", "IDENTITYCTL_AWS_ROLE_ARN"),
        ("IDENTITYCTL_AGNET", "IDENTITYCTL_AGENT"),
    ])
    func findsTheVariableThatWasMeant(name: String, meant: String) {
        let found = MistypedVariable.all(in: Variables([name: "x"]), among: [name])
        #expect(found == [MistypedVariable(name: name, meant: meant)])
        // What is set counts, and is not missing.
        #expect(MistypedVariable.all(in: Variables([name: "x", meant: "y"]), among: [name, meant]).isEmpty)
        #expect(MistypedVariable.all(in: Variables([name: ""]), among: [name]).isEmpty)
    }

    @Test(arguments: [
        "IDENTITYCTL_CLIENT_ID", "IDENTITYCTL_AGENT", "IDENTITYCTL_KEYRING_PASSED_ON", "IDENTITYCTL_TOKEN",
        "IDENTITYCTL_FORWARD_URL", "IDENTITYCTL_FORWARD_PHANTOM",
        "IDENTITYCTL_BANANA", "IDENTITY_CLIENTID", "CLIENTID",
    ])
    func leavesOtherVariablesAlone(name: String) {
        #expect(MistypedVariable.all(in: Variables([name: "x"]), among: [name]).isEmpty)
    }

    @Test func namesTheLineOfAProfile() {
        let error = #expect(throws: UsageError.self) { try ProfileChange.assignment("scop=email") }
        #expect(error?.message.contains("Did you mean 'scope'?") == true)
    }
}
