// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IdentityClient
import IdentityTestSupport
import IdentityTesting
import Testing

/// Accounts of a program with Microsoft's libraries: taken over once, or shared.
@Suite struct ImportProcessTests {
    private let directory: TemporaryDirectory
    private let variables: [String: String]

    init() throws {
        directory = try TemporaryDirectory()
        variables = [
            "HOME": directory.path, "XDG_STATE_HOME": "\(directory.path)/state", "AZURE_CONFIG_DIR": directory.path,
            "IDENTITYCTL_CLIENT_ID": "client", "IDENTITYCTL_CACHE": "file:\(directory.path)/own",
            "IDENTITYCTL_AUTHORITY": "https://login.microsoftonline.com/organizations",
        ]
        try put(Self.content)
    }

    private func put(_ text: String) throws {
        let made = FileManager.default.createFile(
            atPath: file,
            contents: Data(text.utf8),
            attributes: [.posixPermissions: 0o600]
        )
        try #require(made)
    }

    private var file: String { "\(directory.path)/msal_token_cache.json" }

    static let content = """
        {"Account": {"k": {"home_account_id": "u.t", "environment": "login.microsoftonline.com", "realm": "organizations",
        "local_account_id": "u", "username": "alice@contoso.com", "authority_type": "MSSTS"}},
        "RefreshToken": {"k": {"credential_type": "RefreshToken", "home_account_id": "u.t", "client_id": "client",
        "environment": "login.microsoftonline.com", "secret": "one"}},
        "AccessToken": {"k": {"credential_type": "AccessToken", "home_account_id": "u.t", "client_id": "client",
        "environment": "login.microsoftonline.com", "realm": "organizations", "target": "mail.read", "secret": "token",
        "cached_at": "\(Int(Date.now.timeIntervalSince1970))", "expires_on": "\(Int(Date.now.timeIntervalSince1970) + 3600)"}}}
        """

    @Test(.timeLimit(.minutes(1)), arguments: ["azure-cli", "msal:~/msal_token_cache.json"])
    func takesAccountsOverOnce(_ source: String) async throws {
        let first = try await Tool.run(["import", "--from", source], variables)
        #expect(first.status == 0 && first.output.isEmpty)
        #expect(first.errors == "Took over alice@contoso.com (u.t).\n")
        #expect(try await Tool.run(["token", "--scope", "mail.read"], variables).output == "token\n")
        let again = try await Tool.run(["import", "--from", source], variables)
        #expect(again.status == 0 && again.errors == "alice@contoso.com (u.t) is signed in already.\n")
        #expect(FileManager.default.contents(atPath: file) == Data(Self.content.utf8))
        #expect(try await Tool.run(["logout"], variables).status == 0)
        #expect(FileManager.default.contents(atPath: file) == Data(Self.content.utf8))
    }

    @Test(.timeLimit(.minutes(1))) func sharesTheFile() async throws {
        let shared = variables.merging(["IDENTITYCTL_CACHE": "msal:\(file)"]) { $1 }
        #expect(try await Tool.run(["token", "--scope", "mail.read"], shared).output == "token\n")
        #expect(try await Tool.run(["logout"], shared).status == 0)
        let left = String(decoding: FileManager.default.contents(atPath: file) ?? Data(), as: UTF8.self)
        #expect(left == #"{"Account":{},"RefreshToken":{},"AccessToken":{}}"#)
        #expect(try await Tool.run(["token", "--scope", "mail.read"], shared).status == 2)
    }

    /// An assertion comes from a file, as a refresh token does.
    @Test(.timeLimit(.minutes(1))) func signsInWithAGrantWithoutAPage() async throws {
        let setup = try ToolSetup()
        setup.provider.settings.assertions = ["c4n4ry": "alice@example.test"]
        let path = "\(setup.directory.path)/assertion"
        try Data("c4n4ry\n".utf8).write(to: URL(fileURLWithPath: path))
        let login = ["login", "--grant", "urn:ietf:params:oauth:grant-type:jwt-bearer", "--scope", "files.read"]
        let file = ["--grant-parameter-file", "assertion=\(path)"]
        let signedIn = try await Tool.run(login + file, setup.variables)
        #expect(
            signedIn.status == 0 && signedIn.errors.hasPrefix("Signed in as alice@example.test"),
            "\(signedIn.errors)"
        )
        #expect(try await Tool.run(["token", "--scope", "files.read"], setup.variables).status == 0)
        try Data("c4n4ry-old".utf8).write(to: URL(fileURLWithPath: path))
        let refused = try await Tool.run(login + file, setup.variables)
        #expect(refused.status == 1 && !refused.errors.contains("c4n4ry"), "\(refused.errors)")
        let wrong = [
            ["--grant-parameter-file", "assertion"], file + file,
            ["--grant-parameter-file", "a=-", "--grant-parameter-file", "b=-"],
            file + ["--device-code"], file + ["--prompt", "login"], file + ["--claims", "{}"],
            ["--grant-parameter-file", "a=/no/file"],
        ]
        for options in wrong {
            #expect(try await Tool.run(login + options, setup.variables).status == 64, "\(options)")
        }
        #expect(try await Tool.run(["login"] + file, setup.variables).status == 64)
    }

    @Test(.timeLimit(.minutes(1))) func takesASignInOverByItsRefreshToken() async throws {
        let setup = try ToolSetup()
        try await setup.signIn()
        let token = try setup.refreshToken()
        let path = "\(setup.directory.path)/old-token"
        try Data((token + "\n").utf8).write(to: URL(fileURLWithPath: path))
        var variables = setup.variables
        variables["IDENTITYCTL_CACHE"] = "file:\(setup.directory.path)/new"

        setup.provider.failNext(.token, with: .refusal("invalid_grant"))
        let refused = try await Tool.run(["import", "--refresh-token-file", path], variables)
        #expect(refused.status == 2 && !refused.errors.contains(token))
        let taken = try await Tool.run(["import", "--refresh-token-file", path], variables)
        #expect(taken.status == 0 && taken.output.isEmpty, "\(taken.errors)")
        #expect(taken.errors.hasPrefix("Took over alice@example.test"))
        #expect(try await Tool.run(["token"], variables).status == 0)
        let report = try await Tool.run(["accounts", "--support"], variables).output
        #expect(report.hasPrefix(#"{"generatedOn":"#) && report.contains(#""scopes":["files.read""#), "\(report)")
        #expect(!report.contains("alice@example.test"))

        #expect(try await Tool.run(["import"], variables).status == 64)
        #expect(try await Tool.run(["import", "--refresh-token-file", path + "x"], variables).status == 64)
        #expect(
            try await Tool.run(["import", "--refresh-token-file", path, "--from", "azure-cli"], variables).status == 64
        )
    }

    /// The answer has come, and a process that hangs keeps the record's lock until the tool's time is over.
    @Test(.timeLimit(.minutes(2)), arguments: [true, false])
    func saysThatNothingWasTakenOverIfNothingIsStored(byDeviceSecret: Bool) async throws {
        let setup = try ToolSetup()
        let login = try Tool(["login", "--scope", "files.read device_sso"], setup.variables)
        try await ScriptedBrowser(provider: nil, signingInAs: .alice).visit(try await login.shownAddress())
        #expect(try await login.outcome().status == 0)
        let path = "\(setup.directory.path)/old-token"
        try Data((try setup.refreshToken() + "\n").utf8).write(to: URL(fileURLWithPath: path))
        let gate = TestGate()
        setup.provider.failNext(.token, with: .held(by: gate))
        let way = byDeviceSecret ? ["--device-secret"] : ["--refresh-token-file", path]
        let tool = try Tool(["import"] + way, setup.variables)
        try await setup.provider.waitForRequest(.token, count: 2)
        let locks = try setup.lockRecords()
        defer { for lock in locks { close(lock) } }
        gate.open()
        let outcome = try await tool.outcome()
        #expect(outcome.status == (byDeviceSecret ? 4 : 11), "\(outcome)")
        #expect(!outcome.errors.contains("Took over") && !outcome.errors.contains("Signed in"), "\(outcome.errors)")
        #expect(outcome.errors.contains("(cache.busy"))
        #expect(outcome.errors.contains("may have ended the refresh token in \(path)") == !byDeviceSecret)
    }

    @Test(.timeLimit(.minutes(1))) func signsInByTheDeviceSecretOfAnotherProgram() async throws {
        let setup = try ToolSetup()
        setup.provider.add(.init(id: "notes"))
        var variables = setup.variables
        variables["IDENTITYCTL_GROUP"] = "com.example.suite"
        let login = try Tool(["login", "--scope", "mail.read device_sso"], variables)
        try await ScriptedBrowser(provider: nil, signingInAs: .alice).visit(try await login.shownAddress())
        #expect(try await login.outcome().status == 0)
        variables["IDENTITYCTL_CLIENT_ID"] = "notes"
        variables["IDENTITYCTL_SCOPE"] = "notes.read"
        #expect(try await Tool.run(["token"], variables).status == 2)
        let shared = try await Tool.run(["import", "--device-secret"], variables)
        #expect(shared.status == 0 && shared.output.isEmpty, "\(shared.errors)")
        #expect(shared.errors == "Signed in as alice@example.test.\n")
        #expect(try await Tool.run(["token"], variables).status == 0)
        setup.provider.failNext(.token, with: .refusal("invalid_grant"))
        let refused = try await Tool.run(
            ["import", "--device-secret", "--device-secret-type", "urn:a:b", "--audience", "c"],
            variables
        )
        #expect(refused.status == 2 && setup.provider.requests.last { $0.endpoint == .token }?["audience"] == "c")
        #expect(try await Tool.run(["import", "--device-secret", "--from", "azure-cli"], variables).status == 64)
        #expect(try await Tool.run(["import", "--from", "azure-cli", "--audience", "c"], variables).status == 64)
    }

    @Test(.timeLimit(.minutes(1))) func saysWhatIsMissing() async throws {
        let other = variables.merging(["IDENTITYCTL_CLIENT_ID": "other"]) { $1 }
        let missing = try await Tool.run(["import", "--from", "azure-cli"], other)
        #expect(missing.status == 2 && missing.errors.contains("has no account of this client"))
        try put("{")
        let broken = try await Tool.run(["import", "--from", "azure-cli"], variables)
        #expect(broken.status == 4 && broken.errors.contains("is not a token cache that can be read"))
        #expect(try await Tool.run(["import", "--from", "firefox"], variables).status == 64)
        #expect(try await Tool.run(["import", "--from", "keyring:firefox"], variables).status == 64)
    }
}
