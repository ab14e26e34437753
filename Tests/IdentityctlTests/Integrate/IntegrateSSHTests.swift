// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire
import Testing

@testable import identityctl

/// SSH that brings the forwarder's sockets to a host. ssh is a script here, which reads the same file.
@Suite(.timeLimit(.minutes(1))) struct IntegrateSSHTests {
    private static let file = ".ssh/config"

    private func api() async throws -> ForwardedAPI {
        let api = try await ForwardedAPI()
        try api.person.install(
            "ssh",
            #"""
            if [ "$1" = -G ]; then sed -n 's/^ *RemoteForward/remoteforward/p' ~/.ssh/config 2>/dev/null; exit 0; fi
            echo "$*" >>~/called; printf /run/user/4321
            """#
        )
        return api
    }

    @Test func bringsTheSocketsToAHostAndUndoesThat() async throws {
        let api = try await api()
        let person = api.person
        let before = "User me\n\nHost b\n    Port 2222\n"
        try person.write(before, to: Self.file)
        let set = try await person.integrate("ssh", "a", "--profile", "api")
        #expect(set.status == 0 && set.errors.contains("StreamLocalBindUnlink yes"), "\(set)")
        #expect(set.errors.contains("exec --forward-at /run/user/4321/identityctl-api.sock"), "\(set)")
        let forward = "RemoteForward /run/user/4321/identityctl-api.sock \(try await api.place().socket)"
        let lines = "Host a\n    \(forward)\nMatch all\n"
        let text = try #require(person.text(Self.file))
        #expect(text.contains(lines) && text.hasSuffix(before), "\(text)")
        #expect(person.text("called")?.hasPrefix("-o BatchMode=yes a printf %s ") == true)
        #expect(try await person.integrate("ssh", "a").errors.hasPrefix("Nothing to change"))
        try await person.login("api")
        let found = try await person.finding("ssh")
        #expect(
            found?.string("state") == "ok" && found?.string("found")?.hasPrefix("a (api") == true,
            "\(found?.line ?? "")"
        )
        try person.write(text.replacing(forward, with: "ForwardAgent no"), to: Self.file)
        #expect(try await person.integrate("ssh", "b").status == 0)
        #expect(person.text(Self.file)?.contains("Host b\n    \(forward)\nMatch all\n") == true)
        try person.write(text, to: Self.file)
        #expect(try await person.integrate("ssh", "b", "--undo").errors.contains("Nothing to change"))
        let undone = try await person.integrate("ssh", "a", "--undo")
        #expect(undone.status == 0 && person.text(Self.file) == before, "\(undone)")
    }

    /// A person's own line is as good.
    @Test func addsNothingToAForwardingOfThePersons() async throws {
        let api = try await api()
        let before = "Host a\n  RemoteForward /run/x.sock \(try await api.place().socket)\n"
        try api.person.write(before, to: Self.file)
        let set = try await api.person.integrate("ssh", "a")
        #expect(set.status == 0 && set.errors.contains("Nothing to change"), "\(set)")
        #expect(api.person.text(Self.file) == before && api.person.text("called") == nil)
    }

    @Test func theDoctorNamesASocketThatIsGone() async throws {
        let api = try await api()
        let person = api.person
        #expect(try await person.integrate("ssh", "a").status == 0)
        #expect(try await person.run(["profile", "unset", "api", "forward"]).status == 0)
        let broken = try await person.finding("ssh")
        #expect(broken?.string("state") == "lack", "\(broken?.line ?? "")")
        try await person.mend(broken)
        #expect(try await person.finding("ssh") == nil && person.text(Self.file) == nil)
    }

    @Test(
        arguments: [
            (["ssh"], "Run: identityctl integrate ssh HOST"), (["ssh", "-x"], "-x"), (["ssh", "a b"], "is no host"),
            (["ssh", "a", "--profile", "work"], "has no line 'forward'"), (["git", "a"], "Only ssh takes a host."),
        ]
    )
    func saysWhatIsMissing(_ words: [String], _ reason: String) async throws {
        let refused = try await api().person.run(["integrate"] + words)
        #expect(refused.status == 64 && refused.errors.contains(reason), "\(refused)")
    }
}
