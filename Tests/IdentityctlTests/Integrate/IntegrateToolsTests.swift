// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Testing

@testable import identityctl

/// kubectl and pip are scripts here that write what they are called with; the others need only files.
@Suite struct IntegrateToolsTests {
    // MARK: - kubectl

    /// A user of kubeconfig as `kubectl config view` writes it.
    private static func view(_ user: String, context: String = "x") -> String {
        #"{"kind":"Config","users":[\#(user)],"contexts":[{"name":"\#(context)","context":{"user":"identityctl-work"}}]}"#
    }

    private static let own = """
        {"name":"identityctl-work","user":{"exec":{"command":"identityctl","args":["helper","kubectl","--profile","work"],\
        "env":null,"apiVersion":"client.authentication.k8s.io/v1"}}}
        """

    private static func install(in person: Person, view: String, help: String) throws {
        try person.install(
            "kubectl",
            #"""
            case "$*" in
            *--help) echo '\#(help)' ;;
            'config view'*) echo '\#(view)' ;;
            *) printf '%s\n' "$@" >"$HOME/called" ;;
            esac
            """#
        )
    }

    /// The help of `kubectl config set-credentials`, and the last arguments that it gets.
    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            ("--exec-arg=[]", "v1beta1", []),
            (
                "--exec-interactive-mode --exec-provide-cluster-info", "v1",
                ["--exec-interactive-mode=Never", "--exec-provide-cluster-info=true"]
            ),
        ]
    )
    func addsAUserAsThisKubectlCan(_ help: String, _ version: String, _ last: [String]) async throws {
        let person = try await Person()
        try Self.install(in: person, view: Self.view(""), help: help)
        let set = try await person.integrate("kubectl", "--profile", "work")
        #expect(set.status == 0 && set.errors.contains("kubectl config set-context CONTEXT --user=identityctl-work"))
        let program = try Person.program
        let words =
            [
                "config", "set-credentials", "identityctl-work",
                "--exec-api-version=client.authentication.k8s.io/\(version)", "--exec-command=\(program)",
                "--exec-arg=helper", "--exec-arg=kubectl", "--exec-arg=--profile", "--exec-arg=work",
            ] + last
        #expect(person.text("called") == words.joined(separator: "\n") + "\n")
    }

    @Test(.timeLimit(.minutes(1))) func removesTheUserAgain() async throws {
        let person = try await Person()
        try person.makeLink("tools/identityctl", to: try Person.program)
        try Self.install(in: person, view: Self.view(Self.own), help: "")
        let again = try await person.integrate("kubectl", "--profile", "work")
        #expect(again.status == 0 && person.text("called") == nil, "\(again)")
        let undone = try await person.integrate("kubectl", "--undo")
        #expect(undone.status == 0 && undone.errors.contains("kubectl config set-context x --user=USER"), "\(undone)")
        #expect(person.text("called") == "config\ndelete-user\nidentityctl-work\n")
    }

    @Test(.timeLimit(.minutes(1))) func keepsAnotherUserOfTheName() async throws {
        let person = try await Person()
        let other = #"{"name":"identityctl-work","user":{"token":"REDACTED"}}"#
        try Self.install(in: person, view: Self.view(other), help: "")
        let refused = try await person.integrate("kubectl", "--profile", "work")
        #expect(refused.status == 64 && person.text("called") == nil, "\(refused)")
        #expect(try await person.integrate("kubectl", "--undo").errors.contains("Nothing to change"))
    }

    /// As the kubectl of Debian 12 does.
    @Test(.timeLimit(.minutes(1))) func saysHowToGoOnIfKubectlBreaks() async throws {
        let person = try await Person()
        try person.install(
            "kubectl",
            "case \"$2\" in view) echo '{}' ;; *) [ \"$3\" = --help ] && exit; echo 'panic: nil' >&2; exit 2 ;; esac"
        )
        let failed = try await person.integrate("kubectl", "--profile", "work")
        #expect(failed.status == 1 && failed.errors.contains("panic: nil"), "\(failed)")
        #expect(failed.errors.contains("by hand"), "\(failed)")
    }

    // MARK: - Files

    /// A tool, its file, what is in the file before, and the line that is added.
    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            (
                "cargo", ".cargo/config.toml", "[registries.a]\nindex = \"sparse+https://registry.test/\"\r\n",
                #"registry.global-credential-providers = ["cargo:token", "cargo-credential-identityctl"]"#
            ),
            (
                "bazel", ".bazelrc", "build -c opt",
                "common --credential_helper=site.test=bazel-credential-identityctl"
            ),
            ("uv", ".config/uv/uv.toml", "[pip]\nstrict = true\n", #"keyring-provider = "subprocess""#),
            (
                "pnpm", ".npmrc", "//other.test/:_authToken=x\n",
                "//site.test/:tokenHelper=HOME/.local/bin/pnpm-token-identityctl"
            ),
        ]
    )
    func writesItsLinesFirst(_ tool: String, _ file: String, _ before: String, _ line: String) async throws {
        let person = try await Person(serves: "https://site.test")
        #expect(try await person.run(["profile", "default", "work"]).status == 0)
        try person.write(before, to: file, mode: 0o640)
        let added = line.split(separator: "HOME", omittingEmptySubsequences: false).joined(separator: person.home)
        let set = try await person.integrate(tool, "--profile", "work")
        #expect(set.status == 0, "\(set)")
        let text = try #require(person.text(file))
        let rows = text.utf8.split(separator: 10).map { String(Substring($0)) }
        #expect(rows.count > 3 && rows[1] == added, "\(rows)")
        #expect(text.utf8.suffix(before.utf8.count).elementsEqual(before.utf8))
        #expect(try person.mode(of: file) == 0o640)
        let link = tool == "uv" ? "keyring" : "\(tool)-\(tool == "pnpm" ? "token" : "credential")-identityctl"
        #expect(person.target(of: ".local/bin/\(link)") != nil)

        let again = try await person.integrate(tool, "--profile", "work")
        #expect(again.errorLines.last == "Nothing to change: \(tool) is set up.", "\(again)")
        #expect(try await person.integrate(tool, "--undo").status == 0)
        #expect(person.text(file) == before)
        #expect(person.target(of: ".local/bin/\(link)") == nil)
    }

    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            ("cargo", ".cargo/config.toml"), ("bazel", ".bazelrc"), ("uv", ".config/uv/uv.toml"), ("pnpm", ".npmrc"),
            ("aws", ".aws/config"), ("docker", ".docker/config.json"),
        ]
    )
    func leavesNoEmptyFile(_ tool: String, _ file: String) async throws {
        let person = try await Person(serves: "https://site.test")
        #expect(try await person.run(["profile", "default", "work"]).status == 0)
        #expect(try await person.integrate(tool, "--profile", "work").status == 0)
        #expect(person.text(file)?.isEmpty == false)
        let undone = try await person.integrate(tool, "--undo")
        #expect(undone.status == 0 && person.text(file) == nil, "\(undone)")
        // Nor empty directories: what is left is the profile's.
        let left = try await person.shell("cd; find . -mindepth 1 -empty; find . -mindepth 1 -maxdepth 1 -name '.*'")
        #expect(left.output == "./.config\n", "\(left)")
    }

    @Test(.timeLimit(.minutes(1))) func keepsALinkThatLeadsToAnEmptyFile() async throws {
        let person = try await Person(serves: "https://site.test")
        try person.write("", to: "dotfiles/bazelrc")
        try person.makeLink(".bazelrc", to: "dotfiles/bazelrc")
        #expect(try await person.integrate("bazel", "--profile", "work").status == 0)
        #expect(try await person.integrate("bazel", "--undo").status == 0)
        #expect(person.text("dotfiles/bazelrc") == "" && person.target(of: ".bazelrc") == "dotfiles/bazelrc")
    }

    @Test(.timeLimit(.minutes(1))) func undoesBazelForOneProfile() async throws {
        let person = try await Person(serves: "https://site.test", "https://name", "https://other.test/path")
        try await person.addProfile("home", serves: ["https://home.test:8443"])
        let set = try await person.integrate("bazel", "--profile", "work")
        #expect(set.errors.contains("not for https://name.") && set.errors.contains("not for https://other.test/path."))
        #expect(try await person.integrate("bazel", "--profile", "home").status == 0)
        #expect(try await person.integrate("bazel", "--profile", "work", "--undo").status == 0)
        let rows = person.text(".bazelrc")?.split(separator: "\n").dropFirst().dropLast() ?? []
        #expect(
            Set(rows) == [
                "common --credential_helper_timeout=40s",
                "common --credential_helper=home.test=bazel-credential-identityctl",
            ],
            "\(rows)"
        )
        #expect(person.target(of: ".local/bin/bazel-credential-identityctl") != nil)
        try await person.addProfile("local", serves: ["https://name2"])
        let refused = try await person.integrate("bazel", "--profile", "local")
        #expect(refused.status == 64 && refused.errors.contains("serves none"), "\(refused)")
    }

    /// A line of a person's own in the way.
    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            ("cargo", ".cargo/config.toml", "[registry]\ndefault = \"a\"\n"),
            ("bazel", ".bazelrc", "common --credential_helper=site.test=/other\n"),
            ("uv", ".config/uv/uv.toml", "keyring-provider = \"disabled\"\n"),
            ("pnpm", ".npmrc", "//site.test/:_authToken = x\n"),
            ("pnpm", ".npmrc", "# Lines of 'identityctl integrate pnpm'; --undo removes them.\n"),
            ("bazel", ".bazelrc", "\u{FEFF}build -c opt\n"),
        ]
    )
    func leavesTheFileAsItIs(_ tool: String, _ file: String, _ before: String) async throws {
        let person = try await Person(serves: "https://site.test")
        #expect(try await person.run(["profile", "default", "work"]).status == 0)
        try person.write(before, to: file)
        let refused = try await person.integrate(tool, "--profile", "work")
        #expect(refused.status == 64, "\(refused)")
        #expect(person.text(file) == before)
    }

    @Test(.timeLimit(.minutes(1))) func givesPnpmOnlyTheDefaultProfile() async throws {
        let person = try await Person(serves: "https://site.test")
        try await person.addProfile("other", serves: [])
        let refused = try await person.integrate("pnpm", "--profile", "work")
        #expect(refused.status == 64 && refused.errors.contains("identityctl profile default work"), "\(refused)")
        // The only profile needs no such choice.
        #expect(try await person.run(["profile", "remove", "other"]).status == 0)
        #expect(try await person.integrate("pnpm", "--profile", "work").status == 0)
    }

    /// Lines of TOML, and whether another definition of the table `registry` after them is an error.
    @Test(arguments: [
        ("[registry]", true), (" [ \"registry\" ] # x", true), ("[registry.x]", true),
        ("registry.default = \"a\"", true),
        ("registry = { default = \"a\" }", true), ("'registry' . default = 'a'", true), ("[registries.a]", false),
        ("registry = \"https://a.test\"", false), ("# [registry]", false), ("index = \"registry.a\"", false),
        ("", false),
    ])
    func knowsTheTableRegistry(_ line: String, _ isThere: Bool) {
        #expect(LinesIntegration.hasRegistryTable(line) == isThere)
    }

    // MARK: - AWS

    @Test(.timeLimit(.minutes(1))) func warnsOfAShortTimeAtAWS() async throws {
        let person = try await Person()
        for (name, seconds) in [("short", "900"), ("long", "1800")] {
            try await person.addProfile(name, serves: [], "aws-duration = \(seconds)")
            let set = try await person.integrate("aws", "--profile", name)
            #expect(set.errors.contains("at nearly each request") == (name == "short"), "\(set)")
        }
    }

    @Test(.timeLimit(.minutes(1))) func addsAProfileOfAWSUntilUndone() async throws {
        let person = try await Person()
        let before = "[default]\nregion = eu-central-1\n"
        try person.write(before, to: ".aws/config")
        let made = try await person.integrate("aws", "--profile", "work")
        #expect(made.status == 0 && made.errors.contains("The profile has no role yet."), "\(made)")
        let program = try Person.program
        let section = "[profile identityctl-work]\ncredential_process = \(program) helper aws --profile work\n"
        #expect(person.text(".aws/config")?.contains(section) == true)
        #expect(person.text(".aws/config")?.hasSuffix(before) == true)
        let again = try await person.integrate("aws", "--profile", "work")
        #expect(again.errorLines.last == "Nothing to change: aws is set up.", "\(again)")
        #expect(try await person.integrate("aws", "--profile", "work", "--undo").status == 0)
        #expect(person.text(".aws/config") == before)
        let other = "[profile identityctl-work]\nregion = a\n"
        try person.write(other, to: ".aws/config")
        let refused = try await person.integrate("aws", "--profile", "work")
        #expect(refused.status == 64 && refused.errors.contains("[profile identityctl-work]"), "\(refused)")
        #expect(person.text(".aws/config") == other)
    }

    // MARK: - pip

    @Test(.timeLimit(.minutes(1))) func setsPipUpUntilUndone() async throws {
        let person = try await Person(serves: "https://site.test")
        try person.install(
            "pip",
            #"""
            [ "$1 $2 $4" = "config --user global.keyring-provider" ] || exit 9
            case "$3" in
            get) cat "$HOME/value" 2>/dev/null || { echo 'ERROR: No such key' >&2; exit 1; } ;;
            set) echo "$5" >"$HOME/value" ;;
            unset) rm "$HOME/value"; mkdir -p "$HOME/.config/pip"; echo >"$HOME/.config/pip/pip.conf" ;;
            esac
            """#
        )
        let set = try await person.integrate("pip", "--profile", "work")
        #expect(set.status == 0 && set.errors.contains("pip config --user set global.keyring-provider subprocess"))
        #expect(person.text("value") == "subprocess\n" && person.target(of: ".local/bin/keyring") != nil)
        let again = try await person.integrate("pip", "--profile", "work")
        #expect(again.errorLines.last == "Nothing to change: pip is set up.", "\(again)")
        // uv needs the link too.
        #expect(try await person.integrate("uv", "--profile", "work").status == 0)
        try person.write("\n", to: ".config/pip/pip.conf")
        #expect(try await person.integrate("pip", "--undo").status == 0)
        #expect(person.text(".config/pip/pip.conf") == nil)
        #expect(person.text("value") == nil && person.target(of: ".local/bin/keyring") != nil)
        #expect(try await person.integrate("uv", "--undo").status == 0)
        #expect(person.target(of: ".local/bin/keyring") == nil)
        try person.write("import\n", to: "value")
        let refused = try await person.integrate("pip", "--profile", "work")
        #expect(refused.status == 64 && refused.errors.contains("unset global.keyring-provider"), "\(refused)")
        #expect(person.text("value") == "import\n")
    }

    // MARK: - msmtp

    @Test(.timeLimit(.minutes(1))) func onlyShowsTheLinesForMsmtp() async throws {
        let person = try await Person()
        try person.makeLink("tools/identityctl", to: try Person.program)
        try person.write("account a\n", to: ".msmtprc")
        let shown = try await person.integrate("msmtp", "--profile", "work")
        #expect(shown.status == 0 && shown.errorLines.last == "Nothing was changed.", "\(shown)")
        #expect(shown.errorLines.contains("passwordeval \"identityctl token --profile work\""), "\(shown)")
        #expect(person.text(".msmtprc") == "account a\n")
        try person.write("account a\n passwordeval \"identityctl token --profile work\"\n", to: ".msmtprc")
        let doctor = try await person.run(["doctor", "--without-browser"])
        #expect(doctor.output.contains("identityctl login --profile work"), "\(doctor)")
    }
}
