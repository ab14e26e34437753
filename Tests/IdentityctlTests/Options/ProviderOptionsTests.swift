// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import IdentityClient
import IdentityKeyring
import IdentityMSALCaches
import Logging
import Testing

@testable import identityctl

@Suite struct ProviderOptionsTests {
    static let complete = ["IDENTITYCTL_CLIENT_ID": "c", "IDENTITYCTL_ISSUER": "https://id.example.test"]

    static func configuration(
        _ arguments: [String],
        _ variables: [String: String] = [:]
    ) throws -> ClientConfiguration {
        try ProviderOptions.parse(arguments).configuration(Variables(variables))
    }

    /// As `echo` and Kubernetes leave it. The secret itself is not shown.
    @Test(arguments: [
        ("IDENTITYCTL_CLIENT_SECRET", "s3cret\n", "printf %s"), ("IDENTITYCTL_CLIENT_SECRET", "s3cr\u{7F}t", "control"),
        ("IDENTITYCTL_CLIENT_ID", "s3cret\r\n", "line end"), ("IDENTITYCTL_CLIENT_ID", "s3cret\u{A0}", "ASCII"),
    ])
    func namesTheVariableWhoseValueCannotBeSent(_ name: String, _ value: String, _ reason: String) throws {
        let variables = Self.complete.merging([name: value]) { $1 }
        let error = #expect(throws: UsageError.self) { try Self.configuration([], variables) }
        #expect(error?.message.hasPrefix("\(name): ") == true && error?.message.contains(reason) == true)
        #expect(error?.message.contains("s3cr") == false)
    }

    @Test func takesASecretBeyondASCIIAsTheLibraryDoes() throws {
        let variables = Self.complete.merging(["IDENTITYCTL_CLIENT_SECRET": "s3cr\u{E9}t"]) { $1 }
        #expect(try Self.configuration([], variables).clientSecret?.rawValue == "s3cr\u{E9}t")
    }

    @Test func takesParametersOfTheRequestForTokens() throws {
        let variables = Self.complete.merging(["IDENTITYCTL_TOKEN_PARAMETER": "a=b c=d=e"]) { $1 }
        #expect(try Self.configuration([], variables).extraTokenParameters == ["a": "b", "c": "d=e"])
        let given = ["--token-parameter", "resource=https://a.test/?b c"]
        #expect(
            try Self.configuration(given, variables).extraTokenParameters == ["resource": "https://a.test/?b c"]
        )
        for wrong in [["a"], ["=a"], ["refresh_token=a"], ["a=1", "a=2"]] {
            let options = wrong.flatMap { ["--token-parameter", $0] }
            let error = #expect(throws: UsageError.self) { try Self.configuration(options, Self.complete) }
            #expect(error?.message.hasPrefix("--token-parameter: ") == true)
        }
    }

    @Test func takesOptionsFromTheCommandLineFirst() throws {
        let variables = ["IDENTITYCTL_CLIENT_ID": "v", "IDENTITYCTL_GROUP": "variable"]
        let made = try Self.configuration(
            ["--client-id", "c", "--issuer", "https://id.example.test/x", "--group", "Line"],
            variables
        )
        #expect(made.clientID == "c")
        #expect(made.cacheGroup?.name == "line")
        #expect(made.authority.description == "https://id.example.test/x")
        #expect(made.cache is DesktopTokenCache)
    }

    @Test func takesTheSecretFromTheEnvironment() throws {
        let secret = ["IDENTITYCTL_CLIENT_SECRET": "not so secret"]
        #expect(
            try Self.configuration([], Self.complete.merging(secret) { $1 }).clientSecret?.rawValue == "not so secret"
        )
        #expect(try Self.configuration([], Self.complete).clientSecret == nil)
        let arguments = ["--client-id", "c", "--issuer", "https://id.example.test"]
        #expect(try Self.configuration(arguments, secret).clientSecret?.rawValue == "not so secret")
        #expect(
            try Self.configuration(arguments, Self.complete.merging(secret) { $1 }).clientSecret?.rawValue
                == "not so secret"
        )
    }

    @Test(arguments: [["--client-id", "d"], ["--issuer", "https://other.example.test"]])
    func sendsNoSecretToAnotherProviderOrForAnotherClient(_ arguments: [String]) throws {
        let variables = Self.complete.merging(["IDENTITYCTL_CLIENT_SECRET": "not so secret"]) { $1 }
        #expect(try Self.configuration(arguments, variables).clientSecret == nil)
    }

    @Test func tellsWhatTheTokensUseCanHandle() throws {
        #expect(try Self.configuration([], Self.complete).clientCapabilities.isEmpty)
        let line = try Self.configuration(["--client-capabilities", "cp1 x"], Self.complete)
        #expect(line.clientCapabilities == ["cp1", "x"])
        let variables = Self.complete.merging(["IDENTITYCTL_CLIENT_CAPABILITIES": "cp1"]) { $1 }
        #expect(try Self.configuration([], variables).clientCapabilities == ["cp1"])
        #expect(throws: UsageError.self) { try Self.configuration(["--client-capabilities", ""], Self.complete) }
        // The suggested command requests the same.
        let options = try ProviderOptions.parse(["--client-capabilities", "cp1"]).shared()
        #expect(options.command("login") == "identityctl login --client-capabilities cp1")
    }

    @Test func asksABrokerOnlyWhereItIsToldTo() throws {
        let entra = ["--authority", "https://login.microsoftonline.com/common"]
        func use(_ arguments: [String], _ variables: [String: String] = ["IDENTITYCTL_CLIENT_ID": "c"]) throws -> String
        {
            switch try Self.configuration(entra + arguments, variables).broker {
            case .off: "off"
            case .whenAvailable: "auto"
            case .required: "required"
            }
        }
        #expect(try use([]) == "off")
        for word in ["off", "auto", "required"] { #expect(try use(["--broker", word]) == word) }
        #expect(try use([], ["IDENTITYCTL_CLIENT_ID": "c", "IDENTITYCTL_BROKER": "auto"]) == "auto")
        #expect(throws: UsageError.self) { try use(["--broker", "on"]) }
    }

    @Test func takesOptionsFromTheEnvironment() throws {
        var variables = Self.complete
        variables["IDENTITYCTL_CACHE"] = "memory"
        variables["IDENTITYCTL_GROUP"] = ""
        let made = try Self.configuration([], variables)
        #expect(made.clientID == "c")
        #expect(made.cacheGroup == nil)
        #expect(made.authority == (try .openIDConnect(issuer: "https://id.example.test")))
        #expect(made.cache is InMemoryTokenCache)
    }

    @Test(
        arguments: [
            (nil, .standard.accepting(.file).acceptingAnyKeyFile()),
            ("auto", .standard.accepting(.file).acceptingAnyKeyFile()), ("keyring", .require(.keyring)),
            ("file", .require(.file)), ("memory", nil), ("file:/d", nil), ("msal:/f", nil),
            ("msal-keyring:a=b", nil),
        ] as [(String?, LocationPolicy?)]
    )
    func choosesNoClearTextUnlessTold(_ text: String?, _ policy: LocationPolicy?) throws {
        #expect(try CacheChoice(text.map { Given(text: $0, origin: "--cache") }, home: nil).policy == policy)
        if text == nil { #expect(policy?.locations.contains(.file) == false) }
    }

    static let endpoint = "https://id.example.test/device"
    static let option = "--device-authorization-endpoint"
    static let algorithms = "--id-token-algorithms"

    @Test func replacesTheProviderOfTheEnvironmentWhole() throws {
        let url = "https://login.microsoftonline.com/common"
        var variables = Self.complete
        variables["IDENTITYCTL_DEVICE_AUTHORIZATION_ENDPOINT"] = Self.endpoint
        #expect(try Self.configuration(["--authority", url], variables).authority == (try Authority(url: url)))
        let other = "https://other.example.test"
        let named = try Self.configuration(["--issuer", other], variables)
        #expect(named.authority == (try .openIDConnect(issuer: other)))
    }

    @Test(arguments: [true, false])
    func namesTheEndpointThatTheIssuerDoesNotPublish(isOption: Bool) throws {
        var variables = Self.complete
        if !isOption { variables["IDENTITYCTL_DEVICE_AUTHORIZATION_ENDPOINT"] = Self.endpoint }
        let arguments = isOption ? [Self.option, Self.endpoint] : []
        let named = try Authority.openIDConnect(
            issuer: "https://id.example.test",
            deviceAuthorization: Self.endpoint
        )
        #expect(try Self.configuration(arguments, variables).authority == named)
    }

    private static let server = [
        "authorization-endpoint": "https://github.test/authorize", "token-endpoint": "https://github.test/token",
        "device-authorization-endpoint": "https://github.test/device",
        "revocation-endpoint": "https://github.test/revoke", "issuer": "https://github.test",
    ]

    @Test(arguments: [true, false]) func namesAPlainServerByItsEndpoints(areOptions: Bool) throws {
        let client = ["IDENTITYCTL_CLIENT_ID": "c"]
        let pairs = Self.server.map { (Variables.variable(for: $0.key), $0.value) }
        let variables = Dictionary(uniqueKeysWithValues: pairs)
        let arguments = areOptions ? Self.server.flatMap { ["--\($0.key)", $0.value] } : []
        let made = try Self.configuration(arguments, areOptions ? client : variables.merging(client) { $1 })
        let endpoints = Authority.OAuth2Endpoints(
            authorization: "https://github.test/authorize",
            token: "https://github.test/token",
            deviceAuthorization: "https://github.test/device",
            revocation: "https://github.test/revoke",
            issuer: "https://github.test"
        )
        #expect(made.authority == (try .oauth2(endpoints)))
    }

    /// The secret and the issuer in the variables belong to another provider, and are not meant for this server.
    @Test func takesNothingOfTheEnvironmentForAnotherServer() throws {
        let variables = Self.complete.merging(["IDENTITYCTL_CLIENT_SECRET": "not so secret"]) { $1 }
        let url = "https://github.test"
        let arguments = ["--authorization-endpoint", "\(url)/a", "--token-endpoint", "\(url)/t"]
        let made = try Self.configuration(arguments, variables)
        #expect(made.clientSecret == nil)
        let endpoints = Authority.OAuth2Endpoints(authorization: "\(url)/a", token: "\(url)/t")
        #expect(made.authority == (try .oauth2(endpoints)))
    }

    @Test func namesWhereAnIssuerRevokes() throws {
        let made = try Self.configuration(["--revocation-endpoint", "https://id.example.test/r"], Self.complete)
        let named = try Authority.openIDConnect(
            issuer: "https://id.example.test",
            revocation: "https://id.example.test/r"
        )
        #expect(made.authority == named)
    }

    @Test(arguments: [true, false]) func namesTheAlgorithmsOfIDTokens(isOption: Bool) throws {
        var variables = Self.complete
        if !isOption { variables["IDENTITYCTL_ID_TOKEN_ALGORITHMS"] = "RS256 ES256" }
        let made = try Self.configuration(isOption ? [Self.algorithms, "RS256 ES256"] : [], variables)
        let named = try Authority.openIDConnect(
            issuer: "https://id.example.test",
            idTokenAlgorithms: ["RS256", "ES256"]
        )
        #expect(made.authority == named)
    }

    @Test(
        arguments: [
            ([], [:], "Give --client-id"),
            (["--client-id", ""], [:], "--client-id: the value is empty"),
            (["--client-id", "c"], [:], "Which provider?"),
            (["--client-id", "c", "--issuer", "https://a.test", "--authority", "https://b.test/x"], [:], "not both"),
            (
                ["--client-id", "c"],
                ["IDENTITYCTL_ISSUER": "https://a.test", "IDENTITYCTL_AUTHORITY": "https://b.test/x"],
                "one of IDENTITYCTL_AUTHORITY and IDENTITYCTL_ISSUER"
            ),
            (
                ["--client-id", "c", "--issuer", "http://a.test"], [:],
                "--issuer: An authority is an absolute https address"
            ),
            (["--client-id", "c"], ["IDENTITYCTL_AUTHORITY": "https://b.test"], "IDENTITYCTL_AUTHORITY: "),
            (
                [option, "http://a.test/device"], complete,
                "\(option): An authority is an absolute https address"
            ),
            (
                ["--client-id", "c", "--authority", "https://b.test/x", option, endpoint], [:],
                "\(option): goes with --issuer"
            ),
            (
                ["--client-id", "c", "--authorization-endpoint", "https://b.test/a"], [:],
                "--authorization-endpoint: a plain OAuth 2.0 server needs --token-endpoint as well"
            ),
            (
                ["--client-id", "c", "--token-endpoint", "https://b.test/t"], [:],
                "--token-endpoint: a plain OAuth 2.0 server needs --authorization-endpoint as well"
            ),
            (
                ["--client-id", "c", "--authority", "https://b.test/x", "--token-endpoint", endpoint], [:],
                "one of --authority and --token-endpoint"
            ),
            (["--token-endpoint", "http://a.test/t"], complete, "--token-endpoint: An authority is an absolute https"),
            ([algorithms, "none"], complete, "\(algorithms): The algorithms for ID tokens are one or more of RS256"),
            (
                ["--client-id", "c", "--authority", "https://b.test/x", algorithms, "RS256"], [:],
                "\(algorithms): goes with --issuer"
            ),
            (
                [
                    "--authorization-endpoint", endpoint, "--token-endpoint", endpoint, algorithms, "RS256",
                ], complete,
                "\(algorithms): goes with --issuer alone"
            ),
            (["--group", "a b"], complete, "--group: "),
            (["--cache", "kwallet"], complete, "'kwallet' is not a cache. Possible are: auto"),
            (["--cache", "file:"], complete, "--cache: 'file:' is not a cache"),
            (["--cache", "file:tokens"], complete, "--cache: 'tokens' is another place wherever"),
        ] as [([String], [String: String], String)]
    )
    func saysWhatIsWrongAndWhere(arguments: [String], variables: [String: String], text: String) throws {
        let error = #expect(throws: UsageError.self) { _ = try Self.configuration(arguments, variables) }
        #expect(error?.message.contains(text) == true, "\(error?.message ?? "")")
    }

    @Test func choosesTheCache() throws {
        func choice(_ text: String, home: String? = "/home/a") throws -> CacheChoice {
            try CacheChoice(Given(text: text, origin: ""), home: home)
        }
        #expect(try CacheChoice(nil, home: nil) == .auto)
        #expect(try choice("auto") == .auto)
        #expect(try choice("keyring") == .keyring)
        #expect(try choice("file") == .file)
        #expect(try choice("file:/a b") == .directory("/a b"))
        #expect(try choice("file:~/t") == .directory("/home/a/t"))
        #expect(throws: UsageError.self) { try choice("file:~/t", home: nil) }
        #expect(try choice("msal:~/f") == .shared(.file("/home/a/f")))
        #expect(throws: UsageError.self) { try choice("msal:") }
        #expect(try choice("memory") == .memory)
        #expect(try choice("encrypted:key-file=/a b") == .encrypted(Self.key("key-file=/a b")))
        #expect(try choice("encrypted:key-file=~/k") == .encrypted(Self.key("key-file=/home/a/k")))
        let key = try Self.key("credential=k")
        #expect(try choice("encrypted:credential=k") == .encrypted(key))
        #expect(try choice("encrypted:credential=k").policy == .require(.encryptedFile(key: key)))
        for text in ["encrypted:key-file=k", "encrypted:key-file=~/", "encrypted:credential=a/b", "encrypted"] {
            #expect(throws: UsageError.self, "\(text)") { try choice(text) }
        }
    }

    private static func key(_ place: String) throws -> KeyFile { try KeyFile(place) }

    @Test(arguments: [("1", true), ("TRUE", true), ("yes", true), ("0", false), ("off", false)])
    func readsSwitches(text: String, isOn: Bool) throws {
        #expect(try Variables(["IDENTITYCTL_FORCE_REFRESH": text]).isOn("force-refresh", false) == isOn)
    }

    @Test func refusesASwitchThatIsNeitherOnNorOff() throws {
        let environment = Variables(["IDENTITYCTL_JSON": "maybe"])
        #expect(throws: UsageError("IDENTITYCTL_JSON: 'maybe' is neither 1 nor 0.")) {
            try environment.isOn("json", false)
        }
        #expect(try environment.isOn("json", true))
    }

    @Test func readsTheLogLevel() throws {
        #expect(try OutputOptions.parse([]).level(Variables([:])) == .warning)
        #expect(try OutputOptions.parse([]).level(Variables(["IDENTITYCTL_LOG_LEVEL": "trace"])) == .trace)
        #expect(throws: UsageError.self) { try OutputOptions.parse(["--log-level", "loud"]).level(Variables([:])) }
    }
}
