// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityTestSupport
import IdentityTesting
import OAuthWire
import Testing

@testable import identityctl

/// The doctor's lines about tools that are set up.
@Suite struct IntegrationDoctorTests {
    private func row(_ name: String, _ person: Person) async throws -> JSONObject? {
        try await person.finding(name)
    }

    @Test(.timeLimit(.minutes(1))) func tellsWhetherGitGetsTokens() async throws {
        let person = try await Person(serves: "https://git.test")
        #expect(try await row("git", person) == nil)
        #expect(try await person.integrate("git", "--profile", "work").status == 0)
        let signedOut = try await row("git", person)
        #expect(signedOut?.string("state") == "lack", "\(signedOut?.line ?? "")")
        #expect(signedOut?.string("advice")?.contains("identityctl login --profile work") == true)
        _ = try await person.login()
        let works = try await row("git", person)
        #expect(works?.string("state") == "ok", "\(works?.line ?? "")")
        #expect(works?.string("found") == "https://git.test (work, alice@example.test)", "\(works?.line ?? "")")

        try person.remove(".local/bin/git-credential-identityctl")
        let unlinked = try await row("git", person)
        #expect(unlinked?.string("state") == "lack", "\(unlinked?.line ?? "")")
        #expect(unlinked?.string("advice")?.contains("identityctl integrate git") == true)
        #expect(try await person.integrate("git", "--profile", "work").status == 0)
        #expect(try await row("git", person)?.string("state") == "ok")
        #expect(try await person.run(["profile", "remove", "work"]).status == 0)
        let unserved = try await row("git", person)
        #expect(unserved?.string("advice")?.contains("No profile serves https://git.test") == true)
    }

    /// The most frequent breakage, and the command that mends it.
    @Test(.timeLimit(.minutes(1))) func saysThatTheProviderEndedTheSignIn() async throws {
        let person = try await Person(serves: "https://git.test")
        #expect(try await person.integrate("git", "--profile", "work").status == 0)
        _ = try await person.login()
        person.setup.provider.revokeSessions(of: .alice)
        #expect(try await person.run(["token", "--profile", "work", "--force-refresh"]).status == 2)
        let requests = person.setup.provider.requests.count
        for check in ["profile work", "git"] {
            // The token of before is still good.
            let waiting = try await row(check, person)
            let text = (waiting?.string("found") ?? "") + (waiting?.string("advice") ?? "")
            #expect(text.contains("the provider refused to renew it"), "\(text)")
            #expect(text.contains("good until"), "\(text)")
        }
        // Nothing was asked but the provider's configuration.
        #expect(person.setup.provider.requests.dropFirst(requests).allSatisfy { $0.endpoint != .token })
        _ = try await person.login()
        for check in ["profile work", "git"] {
            let mended = try await row(check, person)
            #expect(mended?.string("state") == "ok" && mended?.strings("profiles") == ["work"], "\(mended?.line ?? "")")
        }
    }

    @Test(.timeLimit(.minutes(1))) func namesTheCommandAfterTheLastTokenEnded() async throws {
        let person = try await Person(serves: "https://git.test")
        try person.makeLink("tools/identityctl", to: try Person.program)
        for tool in ["git", "containers"] { #expect(try await person.integrate(tool, "--profile", "work").status == 0) }
        let server = ["--resource", "https://git.test/mcp", "--profile", "work"]
        #expect(try await person.run(["integrate", "claude-code"] + server).status == 0)
        try person.write("passwordeval \"identityctl token --profile work\"\n", to: ".msmtprc")
        let checks = ["profile work", "git", "msmtp", "containers", "claude-code"]
        // Each token is over after a second.
        person.setup.provider.failAlways(.token, with: .changing("expires_in", to: "1"))
        _ = try await person.login()
        person.setup.provider.failAlways(.token, with: nil)
        person.setup.provider.revokeSessions(of: .alice)
        let isOver = try await eventually { try await person.run(["token", "--profile", "work"]).status == 2 }
        try #require(isOver)
        for check in checks {
            let ended = try await row(check, person)
            #expect(ended?.string("state") == "lack", "\(ended?.line ?? "")")
            let advice = try #require(ended?.string("advice"))
            #expect(advice.contains("The provider ended the sign-in"), "\(advice)")
            #expect(advice.contains("identityctl login --profile work"), "\(advice)")
        }
        try await person.mend(row("msmtp", person))
        for check in checks { #expect(try await row(check, person)?.string("state") == "ok", "\(check)") }
    }

    @Test(.timeLimit(.minutes(1))) func saysThatGitCallsAProgramThatIsGone() async throws {
        let person = try await Person(serves: "https://git.test")
        let gone = "\(person.home)/old home/bin/git-credential-identityctl"
        let key = "credential.https://git.test.helper"
        _ = try await person.login()
        #expect(try await person.integrate("git", "--profile", "work").status == 0)
        _ = try await person.shell("git config --global --unset-all \(key)")
        let word = GitSettings.word(gone)
        _ = try await person.shell("git config --global --add \(key) '' && git config --global --add \(key) '\(word)'")
        let stray = try await row("git", person)
        #expect(stray?.string("state") == "lack", "\(stray?.line ?? "")")
        #expect(
            stray?.string("advice")?.contains("Git calls \(gone), which is not this program.") == true,
            "\(stray?.line ?? "")"
        )
        #expect(try await person.integrate("git", "--profile", "work").status == 0)
        #expect(try await row("git", person)?.string("state") == "ok")
        let helpers = try await person.shell("git config --global --get-all \(key)").output
        #expect(!helpers.contains("old home"), "\(helpers)")
    }

    @Test(.timeLimit(.minutes(1)), arguments: ["cargo", "uv"])
    func looksAtEachProfileForAllOfThem(tool: String) async throws {
        let person = try await Person(serves: "https://a.test", "https://b.test/x")
        try await person.addProfile("other", serves: [])
        #expect(try await person.integrate(tool, "--profile", "work").status == 0)
        let signedOut = try await row(tool, person)
        #expect(signedOut?.string("found") == "https://a.test (no token), https://b.test/x (no token)")
        #expect(signedOut?.string("advice")?.contains("identityctl login --profile work") == true)
        _ = try await person.login()
        let works = try await row(tool, person)
        #expect(works?.string("state") == "ok", "\(works?.line ?? "")")
        #expect(
            works?.string("found")
                == "https://a.test (work, alice@example.test), https://b.test/x (work, alice@example.test)"
        )
        #expect(try await person.run(["profile", "remove", "work"]).status == 0)
        #expect(try await row(tool, person)?.string("advice")?.contains("No profile serves an address") == true)
    }

    @Test(.timeLimit(.minutes(1))) func looksAtEachPortForBazel() async throws {
        let person = try await Person(serves: "https://a.test", "https://b.test:8443")
        try await person.addProfile("other", serves: ["https://c.test"])
        #expect(try await person.integrate("bazel", "--profile", "work").status == 0)
        let found = try await row("bazel", person)?.string("found")
        #expect(found == "https://a.test (no token), https://b.test:8443 (no token)")
    }

    @Test(.timeLimit(.minutes(1))) func saysThatPnpmNeedsADefaultProfile() async throws {
        let person = try await Person(serves: "https://a.test")
        #expect(try await person.run(["profile", "default", "work"]).status == 0)
        #expect(try await person.integrate("pnpm", "--profile", "work").status == 0)
        #expect(try await row("pnpm", person)?.string("advice")?.contains("login --profile work") == true)
        #expect(try await person.run(["profile", "default", "--unset"]).status == 0)
        try await person.addProfile("other", serves: [])
        #expect(try await row("pnpm", person)?.string("advice")?.contains("identityctl profile default NAME") == true)
    }

    @Test(.timeLimit(.minutes(1))) func readsDockersFileWithoutDocker() async throws {
        let person = try await Person(serves: "https://docker.test")
        try person.write("{", to: ".docker/config.json")
        #expect(try await row("docker", person)?.string("state") == "lack")
        try person.remove(".docker/config.json")
        #expect(try await person.integrate("docker", "--profile", "work").status == 0)
        _ = try await person.login()
        #expect(try await row("docker", person)?.string("found") == "https://docker.test (work, alice@example.test)")
    }
}
