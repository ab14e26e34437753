// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import IdentityTestSupport
import IdentityTesting
import OAuthWire
import Testing

@testable import IdentityClient

/// `identityctl ssh-certificate`, by itself and with OpenSSH.
@Suite struct SSHCertificateProcessTests {
    private static let programs = ["/usr/bin/ssh", "/usr/bin/ssh-keygen", "/usr/sbin/sshd"]
    private static var hasOpenSSH: Bool { programs.allSatisfy(FileManager.default.isExecutableFile) }

    private func signedIn() async throws -> ToolSetup {
        let setup = try ToolSetup(.entra)
        try await setup.signIn()
        return setup
    }

    private func write(_ text: String, _ name: String, in setup: ToolSetup) throws -> String {
        let path = setup.directory.appendingPathComponent(name).path
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        return path
    }

    private func mode(_ path: String) throws -> UInt16? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? UInt16
    }

    @Test(.timeLimit(.minutes(1))) func writesTheCertificateBesideTheKeyOnce() async throws {
        let setup = try await signedIn()
        let key = try write(SSHExample.first + " alice\n", "azure.pub", in: setup)
        let path = setup.directory.appendingPathComponent("azure-cert.pub").path
        let first = try await setup.run("ssh-certificate", "--public-key", key)
        #expect(first.status == 0 && first.output.isEmpty, "\(first.errors)")
        #expect(first.errors.contains("The certificate for alice@example.test is in \(path), until "))
        let text = try String(contentsOfFile: path, encoding: .utf8)
        let words = text.split(separator: " ")
        #expect(words.first == "ssh-rsa-cert-v01@openssh.com" && text.hasSuffix("\n") && words.count == 2)
        let certificate = SSHCertificate(base64: words[1].trimmingCharacters(in: .newlines))
        #expect(certificate?.principals == ["alice@example.test"])
        #expect(try mode(path) == 0o600)

        // Again: from the cache, without a word, and the file stays as it is.
        let requests = setup.provider.count(of: .token)
        let number = try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? Int
        let again = try await setup.run("ssh-certificate", "--public-key", key)
        #expect(again.status == 0 && again.output.isEmpty && again.errors.isEmpty, "\(again.errors)")
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.systemFileNumber] as? Int == number)

        let printed = try await setup.run("ssh-certificate", "--public-key", key, "--output", "-")
        #expect(printed.output == text && printed.errors.isEmpty)
        let json = try await setup.run("ssh-certificate", "--public-key", key, "--output", path + "2", "--json")
        let report = try JSONObject(parsing: Array(json.output.utf8))
        #expect(report.string("file") == path + "2" && report.strings("principals") == ["alice@example.test"])
        #expect(report.string("certificate").map { $0 + "\n" } == text && report.string("source") == "cache")
        #expect(try String(contentsOfFile: path + "2", encoding: .utf8) == text)
        #expect(setup.provider.count(of: .token) == requests)

        let forced = try await setup.run("ssh-certificate", "--public-key", key, "--force-refresh")
        #expect(forced.status == 0 && setup.provider.count(of: .token) == requests + 1)
        #expect(try String(contentsOfFile: path, encoding: .utf8) != text)
    }

    @Test(.timeLimit(.minutes(1))) func advisesTheSignInForItsScope() async throws {
        let setup = try await signedIn()
        let key = try write(SSHExample.first, "azure.pub", in: setup)
        setup.provider.requireSecondFactor(of: .alice)
        let refused = try await setup.run("ssh-certificate", "--public-key", key)
        #expect(refused.status == 2)
        let advice = "To sign in, run: identityctl login --scope https://pas.windows.net/CheckMyAccess/Linux/.default "
        #expect(refused.errorLines.last?.hasPrefix(advice) == true, "\(refused.errors)")
        #expect(!FileManager.default.fileExists(atPath: key.replacing(".pub", with: "-cert.pub")))
    }

    @Test(.timeLimit(.minutes(1))) func refusesWhatIsNoPublicKey() async throws {
        let setup = try ToolSetup(.entra)
        let key = try write(SSHExample.first, "azure.pub", in: setup)
        let other = try write("ssh-ed25519 AAAA", "other.pub", in: setup)
        let missing = setup.directory.path + "/none.pub"
        for (arguments, words) in [
            ([], "name the file of your public key"), (["--public-key", missing], "ssh-keygen -t rsa -b 3072 -f"),
            (["--public-key", other], "no public RSA key"), (["--public-key", setup.directory.path], "no plain file"),
            (["--public-key", "/dev/zero"], "no plain file"), (["--public-key", key, "--output", key], "itself"),
            (["--public-key", key, "--output", ""], "name a file"),
            (["--public-key", key, "--output", setup.directory.path], "a directory"),
        ] {
            let outcome = try await Tool.run(["ssh-certificate"] + arguments, setup.variables)
            #expect(outcome.status == 64 && outcome.errors.contains(words), "\(arguments): \(outcome.errors)")
        }
        let elsewhere = try ToolSetup()
        let outcome = try await elsewhere.run("ssh-certificate", "--public-key", key)
        #expect(outcome.status == 64 && outcome.errors.contains("Entra ID only"), "\(outcome.errors)")
        let variables = setup.variables.merging(["IDENTITYCTL_PUBLIC_KEY": "azure.pub"]) { $1 }
        let relative = try await Tool.run(["ssh-certificate"], variables)
        #expect(relative.status == 64 && relative.errors.contains("neither an absolute path"), "\(relative.errors)")
    }

    /// As Docs/identityctl.md sets ssh up: it runs the command itself, and finds the certificate by itself.
    @Test(.timeLimit(.minutes(1)), .enabled(if: hasOpenSSH, "needs openssh-client and openssh-server"))
    func opensAServerThatTrustsTheAuthority() async throws {
        let setup = try await signedIn()
        let directory = setup.directory.path
        func shell(_ line: String) async throws -> Tool.Outcome {
            let tool = try Tool(shell: line, setup.variables)
            try tool.closeInput()
            return try await tool.outcome()
        }
        _ = try write(setup.provider.sshCertificateAuthority + "\n", "authority.pub", in: setup)
        _ = try write("alice@example.test\n", "principals", in: setup)
        let server = """
            HostKey \(directory)/host
            TrustedUserCAKeys \(directory)/authority.pub
            AuthorizedPrincipalsFile \(directory)/principals
            AuthorizedKeysFile none
            AuthenticationMethods publickey
            PermitRootLogin yes
            StrictModes no
            UsePAM no
            PidFile none
            """
        let serverPath = try write(server, "sshd_config", in: setup)
        let command = "\(try Tool.executable.path) ssh-certificate"
        let client = """
            Match originalhost machine exec "\(command) --public-key \(directory)/azure.pub"
                IdentityFile \(directory)/azure
            Match all
                ProxyCommand /usr/sbin/sshd -i -f \(serverPath)
                IdentitiesOnly yes
                IdentityAgent none
                BatchMode yes
                StrictHostKeyChecking no
                UserKnownHostsFile /dev/null
            """
        let clientPath = try write(client, "ssh_config", in: setup)
        let prepared = try await shell(
            """
            cd \(directory) && ssh-keygen -q -t rsa -b 2048 -N '' -f azure && ssh-keygen -q -t ed25519 -N '' -f host
            if [ "$(id -u)" = 0 ]; then mkdir -p /run/sshd; fi
            """
        )
        #expect(prepared.status == 0, "\(prepared.errors)")

        let first = try await shell("ssh -F \(clientPath) machine echo inside")
        #expect(first.status == 0 && first.output == "inside\n", "\(first.errors)")
        let shown = try await shell("ssh-keygen -L -f \(directory)/azure-cert.pub")
        #expect(shown.status == 0 && shown.output.contains("ssh-rsa-cert-v01@openssh.com user certificate"))
        #expect(shown.output.contains("alice@example.test"))
        // While it is good, no provider is needed.
        setup.provider.close()
        let second = try await shell("ssh -F \(clientPath) machine echo inside")
        #expect(second.status == 0 && second.output == "inside\n", "\(second.errors)")
        // The key alone opens nothing, and neither does the certificate under a name that it does not have.
        let without = try await shell("ssh -F \(clientPath) -i \(directory)/host other echo inside")
        #expect(without.status == 255 && without.output.isEmpty)
        _ = try write("bob@example.test\n", "principals", in: setup)
        let another = try await shell("ssh -F \(clientPath) machine echo inside")
        #expect(another.status == 255 && another.output.isEmpty)
    }
}
