// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Testing

@testable import identityctl

/// The plans of the integrations and the files that they read, without a process of the tool where none is needed.
@Suite struct IntegrationPartsTests {
    private let person: Person
    private let home: Home
    private let work: IntegrationSubject
    private let other: IntegrationSubject

    init() async throws {
        person = try await Person(serves: "https://a.test")
        home = try Home(Variables(person.variables))
        let addresses = [try #require(ServedAddress("https://a.test"))]
        work = IntegrationSubject(profile: ProfileName("work"), addresses: addresses)
        other = IntegrationSubject(profile: ProfileName("other"), addresses: [])
    }

    private func home(_ variables: [String: String]) throws -> Home {
        try Home(Variables(person.variables.merging(variables) { $1 }))
    }

    // MARK: - Files

    @Test func refuseFilesThatNoToolWrites() throws {
        try person.write(String(repeating: "a", count: (8 << 20) + 1), to: "large")
        #expect(throws: UsageError.self) { try ConfigFile("\(person.home)/large") }
        try person.write("a\u{0}b", to: "nul")
        let file = try ConfigFile("\(person.home)/nul")
        #expect(throws: UsageError.self) { try MarkedLines(file, of: "uv") }
    }

    @Test func removeNoNewerFile() throws {
        try person.write("old", to: "file")
        let file = try ConfigFile("\(person.home)/file")
        try person.write("new", to: "file")
        #expect(throws: UsageError.self) { try file.replace(with: []) }
        #expect(person.text("file") == "new")
    }

    // MARK: - Git and docker

    @Test func wantGitToSendPaths() throws {
        let address = try #require(ServedAddress("https://a.test/x"))
        let helper = "credential.https://a.test/x.helper\nidentityctl\0credential.https://a.test/x.usehttppath\n"
        func missing(_ value: String) throws -> [[String]] {
            try GitSettings(parsing: Array("\(helper)\(value)\0".utf8)).adding([address], helper: "identityctl") { _ in
                true
            }
        }
        #expect(throws: UsageError.self) { try missing("false") }
        #expect(try missing("Yes").isEmpty)
    }

    @Test func takeOnlyTheHostsOfAProfileFromDocker() throws {
        let text = #"{"credsStore":"identityctl","credHelpers":{"a.test":"identityctl","b.test":"identityctl"}}"#
        try person.write(text, to: "config.json")
        var settings = try DockerSettings(try ConfigFile("\(person.home)/config.json"))
        #expect(settings.remove(["a.test", "c.test"]) == ["a.test"])
        #expect(settings.uses == ["https://b.test", "all registries"])
    }

    @Test(.timeLimit(.minutes(1))) func hideTheClientSecretFromTools() async throws {
        var person = person
        person.variables["IDENTITYCTL_CLIENT_SECRET"] = "hidden"
        try person.install("git", "env >\"$HOME/variables\"; exit 1")
        #expect(try await person.integrate("git", "--undo").status == 0)
        let variables = try #require(person.text("variables"))
        #expect(variables.contains("HOME=") && !variables.contains("hidden"))
    }

    // MARK: - Links

    @Test func tellOfAProgramThatComesBeforeTheLink() throws {
        try person.install("keyring", "exit 1")
        let home = try home(["PATH": "\(person.home)/tools/:\(person.home)/.local/bin"])
        #expect(HelperLink("keyring", home).obstacle?.contains("/tools/keyring comes before") == true)
        #expect(HelperLink("other", home).obstacle == nil)
    }

    // MARK: - kubectl

    @Test(.timeLimit(.minutes(1))) func wantTheAgentsProfileForKubectl() async throws {
        var person = person
        person.variables["IDENTITYCTL_AGENT"] = "/nowhere"
        try person.install("kubectl", "echo '{}'")
        #expect(try await person.integrate("kubectl", "--serves", "https://a.test").status == 64)
        #expect(try await person.integrate("kubectl", "--profile", "far").errors.contains("identityctl-far"))
    }

    // MARK: - Lines

    @Test func takeTheFileThatTheToolReads() throws {
        #expect(LinesIntegration.cargo(in: home).path.hasSuffix("/.cargo/config.toml"))
        try person.write("", to: ".cargo/config")
        #expect(LinesIntegration.cargo(in: home).path.hasSuffix("/.cargo/config"))
        let variables = ["PNPM_CONFIG_USERCONFIG": "/a", "NPM_CONFIG_USERCONFIG": "/b"]
        #expect(LinesIntegration.pnpm(in: try home(variables)).path == "/a")
        #expect(LinesIntegration.uv(in: try home(["XDG_CONFIG_HOME": "/x"])).path == "/x/uv/uv.toml")
        #expect(LinesIntegration.aws(in: try home(["AWS_CONFIG_FILE": "/c"])).path == "/c")
    }

    @Test(arguments: ["/home/a%b", "/home/a b", "/home/a`b", "/home/a$b"])
    func giveNpmNoPathThatItReadsOtherwise(path: String) throws {
        let pnpm = LinesIntegration.pnpm(in: try home(["HOME": path, "PATH": "/nowhere"]))
        let subject = IntegrationSubject(profile: nil, addresses: work.addresses)
        #expect(throws: UsageError.self) { try pnpm.lines(subject) }
    }

    // MARK: - msmtp

    @Test func showMsmtpsLinesOfTheProfile() async throws {
        try person.write("account a\npasswordeval identityctl token --profile work\n", to: ".config/msmtp/config")
        let msmtp = IntegratedTool.msmtp.integration(in: home)
        #expect(try await msmtp.uses().map(\.profile) == ["work"])
        #expect(try await msmtp.removing(other).advice.isEmpty)
        #expect(try await msmtp.removing(work).advice.first?.contains("/.config/msmtp/config") == true)
    }
}
