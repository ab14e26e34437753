// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityTestSupport
import Testing

@testable import identityctl

@Suite struct IntegrateDockerTests {
    private static let link = ".local/bin/docker-credential-identityctl"
    private static let before = """
        {
          "auths": {
            "other.test": {}
          },
          "plugins": {
            "a": [
              1.50,
              null
            ]
          },
          "credHelpers": {
            "other.test": "ecr-login"
          }
        }

        """

    @Test func namesTheLineThatIsNoJSON() throws {
        let directory = try TemporaryDirectory()
        let path = "\(directory.path)/config.json"
        for (text, line) in [("{\n  \"a\": 1,\n  // mine\n}\n", 3), ("{}\n\nx", 3), ("[]", 1)] {
            try text.write(toFile: path, atomically: false, encoding: .utf8)
            let error = try #require(throws: UsageError.self) { try DockerSettings(ConfigFile(path)) }
            #expect(
                error.message.hasPrefix("\(path):\(line): this is not valid JSON, in which docker allows no comments.")
            )
        }
    }

    @Test(.timeLimit(.minutes(1))) func keepsAllElseInTheFile() async throws {
        let person = try await Person(serves: "https://docker.test", "https://docker.test:5000", "https://a.test/path")
        try person.write(Self.before, to: "dotfiles/docker.json", mode: 0o640)
        try person.makeLink(".docker/config.json", to: "../dotfiles/docker.json")
        let token = try await person.login()
        let set = try await person.integrate("docker", "--profile", "work")
        #expect(set.status == 0 && set.errors.contains("so not for https://a.test/path"), "\(set)")
        let expected = Self.before.split(separator: #""ecr-login""#).joined(
            separator: #"""
                "ecr-login",
                    "docker.test": "identityctl",
                    "docker.test:5000": "identityctl"
                """#
        )
        #expect(person.text("dotfiles/docker.json") == expected)
        #expect(try person.mode(of: "dotfiles/docker.json") == 0o640)
        #expect(person.target(of: ".docker/config.json") == "../dotfiles/docker.json")
        let got = try await person.shell("docker-credential-identityctl get", "docker.test:5000")
        #expect(got.output.contains(#""Secret":"\#(token)""#), "\(got)")

        let again = try await person.integrate("docker", "--profile", "work")
        #expect(again.errorLines.last == "Nothing to change: docker is set up.", "\(again)")
        let undone = try await person.integrate("docker", "--profile", "work", "--undo")
        #expect(undone.status == 0, "\(undone)")
        #expect(person.text("dotfiles/docker.json") == Self.before)
        #expect(person.target(of: Self.link) == nil)
    }

    @Test(.timeLimit(.minutes(1))) func makesAFileForThisUserAlone() async throws {
        var person = try await Person(serves: "https://docker.test")
        person.variables["DOCKER_CONFIG"] = "\(person.home)/elsewhere"
        #expect(try await person.integrate("docker", "--profile", "work").status == 0)
        #expect(
            person.text("elsewhere/config.json")
                == "{\n\t\"credHelpers\": {\n\t\t\"docker.test\": \"identityctl\"\n\t}\n}\n"
        )
        #expect(try person.mode(of: "elsewhere/config.json") == 0o600)
        #expect(try person.mode(of: "elsewhere") == 0o700)
    }

    /// A file that is not understood, or names another helper, and a part of the error.
    @Test(
        .timeLimit(.minutes(1)),
        arguments: [
            (#"{"credHelpers": {"docker.test": "ecr-login"}}"#, "'ecr-login'"), ("{\"auths\": {}", "not valid JSON"),
            (#"{"a": 1, "a": 2}"#, "not valid JSON"), (#"{"credHelpers": []}"#, "no object"), ("[]", "not valid JSON"),
        ]
    )
    func leavesTheFileAsItIs(_ before: String, _ reason: String) async throws {
        let person = try await Person(serves: "https://docker.test")
        try person.write(before, to: ".docker/config.json")
        let refused = try await person.integrate("docker", "--profile", "work")
        #expect(refused.status == 64 && refused.errors.contains(reason), "\(refused)")
        #expect(person.text(".docker/config.json") == before)
        #expect(person.target(of: Self.link) == nil)
    }

    @Test(.timeLimit(.minutes(1))) func wantsAHostWithoutAPath() async throws {
        let person = try await Person(serves: "https://docker.test/path")
        let refused = try await person.integrate("docker", "--profile", "work")
        #expect(refused.status == 64 && refused.errors.contains("without a path"), "\(refused)")
    }

    @Test func doesNotWriteOverANewerFile() async throws {
        let person = try await Person()
        try person.write("{}", to: "config.json")
        let file = try ConfigFile("\(person.home)/config.json")
        try person.write("{\"a\": 1}", to: "config.json")
        #expect(throws: UsageError.self) { try file.replace(with: Array("{}".utf8)) }
        #expect(person.text("config.json") == "{\"a\": 1}")
    }
}
