// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityTesting
import Testing

/// The profile and the account whose token a helper gives.
@Suite(.timeLimit(.minutes(1))) struct HelperChoiceTests {
    private static func asked(_ username: String? = nil, path: String = "") -> String {
        "protocol=https\nhost=git.test\npath=\(path)\n" + (username.map { "username=\($0)\n" } ?? "")
    }

    private func get(_ request: String, _ person: Person) async throws -> Tool.Outcome {
        try await person.shell("\"\(try Person.program)\" helper git get", request)
    }

    // MARK: - Names

    @Test func givesTheTokenOfTheNamedAccount() async throws {
        let person = try await Person(serves: "https://git.test")
        let alice = try await person.login()
        let bob = try await person.login(as: .bob)
        for (name, token) in [("alice@example.test", alice), ("bob@example.test", bob), ("oauth2", alice)] {
            let found = try await get(Self.asked(name), person)
            #expect(found.output.contains("username=\(name)\npassword=\(token)\n"), "\(found)")
        }
        let other = try await get(Self.asked("carol"), person)
        #expect(other.status == 0 && other.output.isEmpty, "\(other)")
        #expect(other.errors.contains("identityctl login --profile work --login-hint carol"), "\(other)")
        #expect(other.errors.contains("username = carol"), "\(other)")
        // pip asks with the name, too; the next 'keyring' may know another one.
        let call = "helper keyring get https://git.test/simple/ alice@example.test"
        let index = try await person.shell("\"\(try Person.program)\" \(call)")
        #expect(index.output == "\(alice)\n", "\(index)")
    }

    /// GitLab wants the same name from each person, and an address may have another one.
    @Test func answersWithTheLinesNameWhateverIsInTheAddress() async throws {
        let person = try await Person()
        try await person.addProfile("lab", serves: ["https://git.test"], "username = oauth2")
        let token = try await person.login("lab")
        for name in ["alice@example.test", "x-token-auth", "oauth2"] {
            let found = try await get(Self.asked(name), person)
            #expect(found.output.contains("username=oauth2\npassword=\(token)\n"), "\(name): \(found)")
        }
        let other = try await get(Self.asked("carol"), person)
        #expect(other.status == 0 && other.output.isEmpty, "\(other)")
        #expect(other.errors.contains("needs the line: username = carol"), "\(other)")
    }

    /// An account that a line names is not exchanged for another one.
    @Test func givesTheBoundAccountUnderItsOwnNameOnly() async throws {
        var person = try await Person(serves: "https://git.test")
        let alice = try await person.login()
        _ = try await person.login(as: .bob)
        person.variables["IDENTITYCTL_ACCOUNT"] = "alice@example.test"
        #expect(try await get(Self.asked("alice@example.test"), person).output.contains("password=\(alice)\n"))
        #expect(try await get(Self.asked("bob@example.test"), person).output.isEmpty)
    }

    @Test func choosesAmongProfilesByTheirUsernames() async throws {
        let person = try await Person()
        for name in ["one", "two"] {
            try await person.addProfile(name, serves: ["https://git.test"], "username = \(name)")
        }
        let one = try await person.login("one")
        let two = try await person.login("two", as: .bob)
        #expect(one != two)
        let found = try await get(Self.asked("one"), person)
        #expect(found.output.contains("username=one\n"), "\(found)")
        let none = try await get(Self.asked("three"), person)
        #expect(none.status == 0 && none.output.isEmpty && none.errors.contains("line: username = three"), "\(none)")
        let unnamed = try await get(Self.asked(), person)
        #expect(unnamed.status == 64 && unnamed.errors.contains("line 'username'"), "\(unnamed)")
        #expect(try await person.integrate("git", "--profile", "two").status == 0)
        let doctor = try await person.run(["doctor", "--without-browser"])
        #expect(doctor.output.contains("https://git.test (one, ") && doctor.output.contains("; two, "), "\(doctor)")
    }

    // MARK: - Variables

    /// A client that variables name, as in the first example of the README, and a profile that serves nothing.
    @Test(arguments: [
        ["IDENTITYCTL_CLIENT_ID": "other", "IDENTITYCTL_ISSUER": "https://other.test", "IDENTITYCTL_SCOPE": "other"],
        ["IDENTITYCTL_PROFILE": "other"], ["IDENTITYCTL_SERVES": "https://other.test", "IDENTITYCTL_PROFILE": "other"],
    ])
    func findsTheProfileInSpiteOfVariables(_ variables: [String: String]) async throws {
        var person = try await Person(serves: "https://git.test")
        try await person.addProfile("other", serves: [])
        let token = try await person.login()
        #expect(try await person.integrate("git", "--profile", "work").status == 0)
        person.variables.merge(variables) { $1 }
        #expect(try await get(Self.asked(), person).output.contains("password=\(token)\n"))
        let doctor = try await person.run(["doctor", "--without-browser"])
        #expect(doctor.output.contains("https://git.test (work, alice@example.test)"), "\(doctor)")
        // An option, and --serves, are meant for this call.
        for options in ["--profile other", "--serves https://other.test"] {
            let line = "\"\(try Person.program)\" helper git \(options) get"
            let chosen = try await person.shell(line, Self.asked())
            #expect(chosen.output.isEmpty || variables["IDENTITYCTL_PROFILE"] == nil && options.hasPrefix("--serves"))
        }
    }

    @Test func saysThatThereIsNoHome() async throws {
        let person = try await Person(serves: "https://git.test")
        let outcome = try await person.shell("unset HOME; \"\(try Person.program)\" helper git get", Self.asked())
        #expect(outcome.status == 0 && outcome.output.isEmpty && outcome.errors.contains("set HOME"), "\(outcome)")
    }

    // MARK: - Addresses

    @Test func givesATokenForAPathWithASpace() async throws {
        let person = try await Person(serves: "https://git.test/team")
        let token = try await person.login()
        let found = try await get(Self.asked(path: "team/My Project/Caf\u{E9}.git"), person)
        #expect(found.output.contains("password=\(token)\n"), "\(found)")
        #expect(try await get(Self.asked(path: "team/../My Project"), person).output.isEmpty)
    }

    @Test func givesDockerTheTokenOfAPlainRegistryHere() async throws {
        let person = try await Person(serves: "http://127.0.0.1:5000")
        let token = try await person.login()
        #expect(try await person.integrate("docker", "--profile", "work").status == 0)
        let found = try await person.shell("docker-credential-identityctl get", "127.0.0.1:5000")
        #expect(found.output.contains(#""Secret":"\#(token)""#), "\(found)")
        let doctor = try await person.run(["doctor", "--without-browser"])
        #expect(doctor.output.contains("https://127.0.0.1:5000 (work, alice@example.test)"), "\(doctor)")
    }

    /// Kubeconfig names the profile beside the cluster.
    @Test func takesTheProfileThatKubeconfigNames() async throws {
        var person = try await Person(serves: "https://git.test")
        _ = try await person.login()
        person.variables["KUBERNETES_EXEC_INFO"] =
            #"{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","#
            + #""spec":{"cluster":{"server":"https://cluster.test"}}}"#
        let named = try await person.run(["helper", "kubectl", "--profile", "work"])
        #expect(named.status == 0 && named.output.contains(#""token":""#), "\(named)")
        for options in [["--profile", "work", "--serves", "https://git.test"], []] {
            let other = try await person.run(["helper", "kubectl"] + options)
            #expect(other.status == 64 && other.errors.contains("serves = https://cluster.test"), "\(other)")
        }
    }
}
