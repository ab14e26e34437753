// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityTestSupport
import IdentityTesting
import OAuthWire
import Testing

@testable import IdentityClient
@testable import IdentityMSALCaches

/// Two issuers on one host, with one client ID, one subject, and one file of other programs.
@Suite(.timeLimit(.minutes(1)))
struct SharedMSALIssuersTests {
    struct Pair: Sendable, CustomStringConvertible {
        let profile: TestIdentityProvider.Profile
        let first: String
        let second: String
        var description: String { "\(first) and \(second)" }

        init(_ first: String, _ second: String, _ profile: TestIdentityProvider.Profile = .openIDConnect) {
            (self.profile, self.first, self.second) = (profile, first, second)
        }
    }

    static let pairs = [
        Pair("https://id.example.test/one", "https://id.example.test/two"),
        Pair("https://id.example.test/Realm", "https://id.example.test/realm"),
        Pair("https://id.example.test", "https://id.example.test:8443"),
        Pair("https://id.example.test:8443/a", "https://id.example.test:9443/a"),
        Pair("https://fs.example.test", "https://fs.example.test:8443", .adfs),
        Pair("https://login.example.test:8443", "https://login.example.test:9443", .entra),
    ]

    /// The programs of one issuer, each a process of its own.
    private struct Programs {
        let provider: TestIdentityProvider
        let clock: ManualClock
        let file: String

        init(_ profile: TestIdentityProvider.Profile, _ issuer: String, _ clock: ManualClock, file: String) throws {
            provider = try TestIdentityProvider(profile: profile, clock: clock, issuer: issuer)
            (self.clock, self.file) = (clock, file)
        }

        func application() throws -> PublicClientApplication {
            let browser = ScriptedBrowser(provider: provider, receiver: InMemoryRedirectReceiver())
            let others = FileTokenCache(directory: file + "-others")
            var configuration = provider.configuration(
                browser: browser,
                cache: try SharedMSALCache(.file(file), clientID: "test-client", fallback: others)
            )
            configuration.entra.knownHosts = ["login.example.test"]
            return try PublicClientApplication(configuration)
        }

        func signIn() async throws -> AuthenticationResult {
            try await application().acquireTokenInteractively(scopes: ["api.read"])
        }

        func token(forcesRefresh: Bool = false) async throws -> AuthenticationResult {
            let application = try application()
            let accounts = try await application.allAccounts()
            #expect(accounts.count == 1)
            var parameters = SilentParameters(scopes: ["api.read"], account: try #require(accounts.first))
            parameters.forcesRefresh = forcesRefresh
            return try await application.acquireTokenSilently(parameters)
        }

        var sentRefreshTokens: [String] { provider.requests.compactMap { $0["refresh_token"] } }
    }

    @Test(arguments: pairs) func keepTheirTokensApart(_ pair: Pair) async throws {
        let directory = try TemporaryDirectory()
        let (clock, file) = (ManualClock(), directory.path + "/msal.json")
        let one = try Programs(pair.profile, pair.first, clock, file: file)
        let two = try Programs(pair.profile, pair.second, clock, file: file)
        let (first, second) = (try await one.signIn(), try await two.signIn())
        #expect(first.accessToken != second.accessToken)
        #expect(try await one.token().accessToken == first.accessToken)
        #expect(try await two.token().accessToken == second.accessToken)
        // A refresh token of the other issuer would be refused.
        let renewed = try await one.token(forcesRefresh: true)
        #expect(renewed.accessToken != first.accessToken)
        #expect(try await two.token().accessToken == second.accessToken)
        let other = try await two.token(forcesRefresh: true)
        #expect(try await one.token().accessToken == renewed.accessToken)
        #expect(try await two.token().accessToken == other.accessToken)
        #expect(try await one.token(forcesRefresh: true).source == .identityProvider)
        #expect(Set(one.sentRefreshTokens).isDisjoint(with: two.sentRefreshTokens))
        #expect(one.sentRefreshTokens.count == 2 && two.sentRefreshTokens.count == 1)
        // Only Microsoft's accounts are in the file; other programs would mix the others up.
        #expect(FileManager.default.fileExists(atPath: file) == (pair.profile == .entra))
    }

    /// An earlier version stored accounts of other issuers in the file, so that the entities may be another issuer's.
    @Test func askForASignInWhereAnEarlierVersionStoredTheAccount() async throws {
        let directory = try TemporaryDirectory()
        let (clock, file) = (ManualClock(), directory.path + "/msal.json")
        let one = try Programs(.openIDConnect, "https://id.example.test/one", clock, file: file)
        let result = try await one.signIn()
        let subject = try #require(result.account.id.rawValue.split(separator: "|").last.map(String.init))
        let name = MSALAccountName(
            partition: "oidc|https://id.example.test/one",
            accountID: result.account.id,
            clientID: "test-client",
            homeAccountID: result.account.id.rawValue,
            environment: "id.example.test"
        )
        let members = #""home_account_id":"\#(subject)","environment":"id.example.test""#
        var blob = try MSALBlob(
            parsing: Array(
                #"""
                {"Account":{"a":{\#(members),"realm":"","local_account_id":"\#(subject)"}},
                "RefreshToken":{"r":{\#(members),"client_id":"test-client","secret":"of another issuer"}}}
                """#.utf8
            )
        )
        blob.setNote(name.name, name.note(signInID: "own"))
        try FileManager.default.removeItem(atPath: file + "-others")
        try SecureFileContent.write(blob.serialized(), to: file)
        #expect(try await one.application().allAccounts().isEmpty)
        _ = try await one.signIn()
        #expect(try await one.token(forcesRefresh: true).source == .identityProvider)
        #expect(!one.sentRefreshTokens.contains("of another issuer"))
        #expect(FileManager.default.contents(atPath: file) == Data(blob.serialized()))
    }

    /// Policies compare by bytes, but for the case of ASCII letters.
    @Test(
        arguments: [
            ("oid-B2C_1_Sign.utid", "b2c_1_sign", true), ("oid-b2c_1_sign2.utid", "b2c_1_sign", false),
            ("oid-b2c_1_caf\u{E9}.utid", "b2c_1_caf\u{E9}", true),
            ("oid-b2c_1_caf\u{E9}.utid", "b2c_1_cafe\u{301}", false),
            ("oid-b2c_1_\u{212A}.utid", "b2c_1_k", false), ("oid-b2c_1_\u{C9}.utid", "b2c_1_\u{E9}", false),
        ]
    )
    func tellsPoliciesApart(home: String, policy: String, isShared: Bool) {
        let name = MSALAccountName(
            partition: "b2c|login.test|tenant|\(policy)",
            accountID: Account.ID(rawValue: home),
            clientID: "c",
            homeAccountID: home,
            environment: "login.test"
        )
        #expect(name.isShareable == isShared)
    }

    /// Two accounts in a file whose ids differ in letters beside ASCII.
    @Test func tellsAccountsApart() {
        let names = ["K.utid", "k.utid", "\u{212A}.utid"].map { home in
            MSALAccountName(
                account: JSONObject([
                    ("home_account_id", .string(home)), ("environment", .string("Login.MicrosoftOnline.com")),
                ]),
                clientID: "c"
            )?.name
        }
        #expect(names[0] != nil && names[0] == names[1] && names[2] != nil && names[2] != names[1])
    }

    private enum SecureFileContent {
        static func write(_ bytes: [UInt8], to path: String) throws {
            #expect(
                FileManager.default.createFile(
                    atPath: path,
                    contents: Data(bytes),
                    attributes: [.posixPermissions: 0o600]
                )
            )
        }
    }
}
