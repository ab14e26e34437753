// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import IdentityClient
import Testing

@testable import identityctl

@Suite struct SignInOptionsTests {
    static func parameters(
        _ arguments: [String],
        _ token: [String] = [],
        _ variables: [String: String] = [:]
    ) throws -> InteractiveParameters {
        try SignInOptions.parse(arguments).parameters(TokenOptions.parse(token), Variables(variables))
    }

    static func redirect(
        _ arguments: [String],
        isManual: Bool = false,
        _ variables: [String: String] = [:]
    ) throws -> RedirectURI {
        try SignInOptions.parse(arguments).redirect(Variables(variables), isManual: isManual)
    }

    static func request() throws -> URL {
        try #require(URL(string: "https://id.example.test/authorize?state=s"))
    }

    @Test(arguments: ["https://id.example.test/authorize?state=s", " 'https://id.example.test/authorize?x' "])
    func refusesTheAddressThatWasToBeOpened(line: String) throws {
        let error = #expect(throws: PastedAddress.Unusable.self) {
            try PastedAddress(line, answering: Self.request())
        }
        #expect(error?.description.hasPrefix("That is the address to open") == true)
    }

    /// Of the right state, and neither yes nor no: it is asked again.
    @Test(arguments: [
        "http://127.0.0.1:1/?state=s", "http://127.0.0.1:1/?xcode=a&state=s", "http://127.0.0.1:1/?state=code",
    ])
    func refusesAnAddressWithoutAnAnswer(line: String) throws {
        let error = #expect(throws: PastedAddress.Unusable.self) {
            try PastedAddress(line, answering: Self.request())
        }
        #expect(error?.description.hasPrefix("That address has no answer in it") == true)
        #expect(throws: Never.self) {
            try PastedAddress("http://127.0.0.1:1/?error=access_denied&state=s", answering: Self.request())
        }
    }

    @Test func passesEverythingOn() throws {
        let made = try Self.parameters(
            [
                "--prompt", "login", "--login-hint", "alice", "--timeout", "20", "--response-mode", "form_post",
                "--domain-hint", "a.test", "--acr-values", "phr  phrh", "--max-age", "0", "--ui-locales", "pt-BR pt",
                "--require-acr", "--require-amr", "mfa  hwk",
                "--parameter", "audience=https://a.test/?x=y", "--parameter", "empty=",
            ],
            ["--scope", "a", "--scope", "b\nc", "--claims", #"{"id_token":{}}"#]
        )
        #expect(made.prompt == .login)
        #expect(made.loginHint == "alice")
        #expect(made.domainHint == "a.test" && made.acrValues == ["phr", "phrh"])
        #expect(made.requiresACR && made.requiredAMR == ["mfa", "hwk"])
        #expect(made.maxAge == .zero && made.uiLocales == ["pt-BR", "pt"])
        #expect(made.timeout == .seconds(20))
        #expect(made.responseMode == .formPost)
        #expect(made.extraQueryItems == ["audience": "https://a.test/?x=y", "empty": ""])
        #expect(made.scopes == ["a", "b", "c"])
        #expect(made.claims == #"{"id_token":{}}"#)
    }

    @Test func leavesTheRestAsTheLibraryHasIt() throws {
        let made = try Self.parameters([])
        #expect(
            made.prompt == .providerDefault && made.loginHint == nil && made.responseMode == nil && made.claims == nil
        )
        #expect(made.timeout == .seconds(300))
        #expect(made.scopes.isEmpty && !made.requiresACR && made.requiredAMR.isEmpty)
    }

    @Test func takesThemFromTheEnvironment() throws {
        let variables = [
            "IDENTITYCTL_SCOPE": " a\tb ", "IDENTITYCTL_TIMEOUT": "7", "IDENTITYCTL_PROMPT": "none",
            "IDENTITYCTL_MAX_AGE": "60", "IDENTITYCTL_RESPONSE_MODE": "query", "IDENTITYCTL_LOGIN_HINT": "bob",
            "IDENTITYCTL_CLAIMS": "{}", "IDENTITYCTL_DOMAIN_HINT": "b.test", "IDENTITYCTL_ACR_VALUES": "phr",
            "IDENTITYCTL_UI_LOCALES": "pt", "IDENTITYCTL_REQUIRE_ACR": "1", "IDENTITYCTL_REQUIRE_AMR": "mfa",
        ]
        let made = try Self.parameters([], [], variables)
        #expect(made.scopes == ["a", "b"])
        #expect(made.timeout == .seconds(7))
        #expect(made.prompt == .none)
        #expect(made.responseMode == .query)
        #expect(made.loginHint == "bob" && made.maxAge == .seconds(60))
        #expect(made.claims == "{}")
        #expect(made.requiresACR && made.requiredAMR == ["mfa"])
        #expect(made.domainHint == "b.test" && made.acrValues == ["phr"] && made.uiLocales == ["pt"])
        #expect(try Self.parameters([], ["--scope", "c"], variables).scopes == ["c"])
    }

    @Test(arguments: [
        (["--timeout", "0"], []), (["--timeout", "1.5"], []), (["--timeout", "86401"], []), (["--timeout", "x"], []),
        (["--max-age", "86401"], []), (["--max-age", "x"], []), (["--acr-values", ""], []),
        (["--response-mode", "fragment"], []), ([], ["--claims", "{"]), ([], ["--claims", "[]"]),
        ([], ["--scope", " "]), (["--require-acr"], []), (["--require-amr", " "], []),
        (["--prompt", ""], []), (["--parameter", "a"], []), (["--parameter", "=a"], []),
        (["--parameter", "scope=a"], []), (["--parameter", "a=1", "--parameter", "a=2"], []),
    ])
    func refusesWhatCannotBeUsed(arguments: [String], token: [String]) {
        #expect(throws: UsageError.self) { try Self.parameters(arguments, token) }
    }

    @Test(arguments: [
        ([], [:], ClientConfiguration.PushPolicy.whenRequired), (["--push"], [:], .whenOffered),
        ([], ["IDENTITYCTL_PUSH": "1"], .whenOffered), ([], ["IDENTITYCTL_PUSH": "0"], .whenRequired),
    ])
    func pushesTheRequestWhereThatIsWanted(
        arguments: [String],
        variables: [String: String],
        policy: ClientConfiguration.PushPolicy
    ) throws {
        #expect(try SignInOptions.parse(arguments).pushPolicy(Variables(variables)) == policy)
    }

    @Test func splitsTheBrowsersCommandIntoWords() throws {
        let options = try BrowserOption.parse(["--browser", " firefox  --private-window "])
        #expect(try options.command(Variables([:])) == ["firefox", "--private-window"])
        #expect(try BrowserOption.parse([]).command(Variables(["IDENTITYCTL_BROWSER": "w3m"])) == ["w3m"])
        #expect(try BrowserOption.parse([]).command(Variables([:])) == nil)
    }

    @Test(arguments: [
        "domain-hint", "acr-values", "require-amr", "max-age", "ui-locales", "prompt", "login-hint", "response-mode",
        "redirect-uri",
        "redirect-ports", "browser",
    ])
    func refusesWhatADeviceCodeIgnores(option: String) throws {
        func command(_ arguments: String...) throws -> LoginCommand {
            try #require(try Identityctl.parseAsRoot(["login"] + arguments) as? LoginCommand)
        }
        #expect(throws: Never.self) {
            try command("--device-code", "--timeout", "9").refuseUnusedOptions(by: .deviceCode)
        }
        #expect(throws: UsageError.self) { try command("--push", "--device-code").refuseUnusedOptions(by: .deviceCode) }
        let chosen = try command("--\(option)", "query", "--device-code")
        let error = #expect(throws: UsageError.self) { try chosen.refuseUnusedOptions(by: .deviceCode) }
        #expect(error?.message.hasPrefix("--\(option): not together with --device-code") == true)
        // Then IDENTITYCTL_DEVICE_CODE requests the device code.
        let variable = #expect(throws: UsageError.self) {
            try command("--\(option)", "query").refuseUnusedOptions(by: .deviceCode)
        }
        #expect(variable?.message.contains("with IDENTITYCTL_DEVICE_CODE") == true)
    }

    @Test func refusesTheBrowserThatManualWouldIgnore() throws {
        func command(_ arguments: String...) throws -> LoginCommand {
            try #require(try Identityctl.parseAsRoot(["login"] + arguments) as? LoginCommand)
        }
        #expect(throws: Never.self) { try command("--manual", "--prompt", "login").refuseUnusedOptions(by: .manual) }
        let error = #expect(throws: UsageError.self) {
            try command("--manual", "--browser", "w3m").refuseUnusedOptions(by: .manual)
        }
        #expect(error?.message.hasPrefix("--browser: not together with --manual") == true)
        #expect(throws: UsageError.self) {
            try command("--manual", "--private-window").refuseUnusedOptions(by: .manual)
        }
        // Then IDENTITYCTL_MANUAL requests the manual sign-in.
        let variable = #expect(throws: UsageError.self) {
            try command("--browser", "w3m").refuseUnusedOptions(by: .manual)
        }
        #expect(variable?.message.contains("with IDENTITYCTL_MANUAL") == true)
    }

    @Test(arguments: [
        ["--prompt", "login"], ["--scope", "a"], ["--account", "bob"], ["--scheme", "pop"], ["--timeout", "9"],
        ["--parameter", "a=b"], ["--claims", "{}"], ["--push"], ["--browser", "w3m"],
    ])
    func refusesOptionsThatTheStartOfTheSignInHas(_ arguments: [String]) throws {
        func command(_ step: String) throws -> LoginCommand {
            try #require(try Identityctl.parseAsRoot(["login", step] + arguments) as? LoginCommand)
        }
        let error = #expect(throws: UsageError.self) { try command("--finish").refuseUnusedOptions(by: .manual) }
        #expect(error?.message.hasPrefix("\(arguments[0]): not together with --finish") == true)
        guard arguments[0] != "--browser" else { return }
        #expect(throws: Never.self) { try command("--start").refuseUnusedOptions(by: .manual) }
    }

    @Test(arguments: [["--finish"], ["--device-code"], ["--if-needed"], ["--print-token"]])
    func refusesWhatTheStartOfASignInCannotDo(_ arguments: [String]) throws {
        #expect(throws: (any Error).self) { try Identityctl.parseAsRoot(["login", "--start"] + arguments) }
        #expect(throws: Never.self) { try Identityctl.parseAsRoot(["login", "--start", "--manual"]) }
    }

    @Test(arguments: [
        ["--acr-values", "phr", "--require-acr"], ["--require-amr", "mfa"],
    ])
    func refusesADeviceCodeThatCannotRequireAKindOfAuthentication(_ arguments: [String]) throws {
        let parameters = try Self.parameters(arguments)
        let options = try SignInOptions.parse([])  // the requirement may come from the profile
        #expect(throws: UsageError.self) {
            try options.deviceParameters(parameters, Variables([:]), for: nil)
        }
    }

    @Test func refusesADeviceCodeForAnAccountThatIsNotSignedIn() throws {
        let options = try SignInOptions.parse(["--timeout", "9"])
        let parameters = try Self.parameters([])
        let environment = Variables([:])
        #expect(try options.deviceParameters(parameters, environment, for: nil).timeout == .seconds(9))
        let wanted = Given(text: "bob", origin: "IDENTITYCTL_ACCOUNT")
        let error = #expect(throws: UsageError.self) {
            _ = try options.deviceParameters(parameters, environment, for: wanted)
        }
        #expect(error?.message.hasPrefix("IDENTITYCTL_ACCOUNT: 'bob' is not signed in here") == true)
    }

    @Test func handsEverythingToADeviceCode() throws {
        let (environment, account) = (Variables([:]), Account(id: Account.ID(rawValue: "i"), environment: "e"))
        let options = try SignInOptions.parse(["--parameter", "a=b"])
        var parameters = try options.parameters(
            TokenOptions.parse(["--scope", "s", "--claims", #"{"id_token":{}}"#]),
            environment
        )
        parameters.account = account
        parameters.requiresPersistence.toggle()
        let wanted = Given(text: "i", origin: "--account")
        let device = try options.deviceParameters(parameters, environment, for: wanted)
        #expect(device.scopes == ["s"] && device.claims == #"{"id_token":{}}"#)
        #expect(device.account == account && device.extraParameters == ["a": "b"] && device.timeout == nil)
        #expect(device.requiresPersistence == parameters.requiresPersistence)
    }

    @Test func keepsTheRedirectAddressAsItIsSpelled() throws {
        #expect(try Self.redirect([]) == .loopback)
        #expect(try Self.redirect(["--redirect-uri", "http://localhost"]) == .loopback(host: .localhost))
        #expect(try Self.redirect(["--redirect-uri", "http://127.0.0.1/"]) == .loopback(host: .ipv4, path: "/"))
        #expect(
            try Self.redirect(["--redirect-uri", "HTTP://[::1]:8400/cb"])
                == .loopback(host: .ipv6, ports: 8400...8400, path: "/cb")
        )
        #expect(try Self.redirect(["--redirect-ports", "8400-8410"]) == .loopback(ports: 8400...8410))
        #expect(try Self.redirect(["--redirect-ports", "8400"]) == .loopback(ports: 8400...8400))
        #expect(
            try Self.redirect(
                [],
                ["IDENTITYCTL_REDIRECT_URI": "http://localhost/a", "IDENTITYCTL_REDIRECT_PORTS": "1-2"]
            )
                == .loopback(host: .localhost, ports: 1...2, path: "/a")
        )
    }

    @Test func takesOtherAddressesOnlyWhereTheAnswerIsPasted() throws {
        let url = try #require(URL(string: "com.example.app:/cb"))
        #expect(try Self.redirect(["--redirect-uri", "com.example.app:/cb"], isManual: true) == .custom(url))
        // The desktop delivers custom schemes, but no web addresses.
        #expect(try Self.redirect(["--redirect-uri", "com.example.app:/cb"]) == .custom(url))
        #expect(throws: UsageError.self) { try Self.redirect(["--redirect-uri", "https://app.example.com/cb"]) }
        #expect(throws: UsageError.self) { try Self.redirect(["--redirect-uri", "http://localhost.evil.test"]) }
        #expect(throws: UsageError.self) { try Self.redirect(["--redirect-uri", "https://localhost"]) }
    }

    @Test(arguments: [
        ["--redirect-uri", "http://localhost:0"], ["--redirect-uri", "http://localhost:65536"],
        ["--redirect-uri", "http://localhost:"], ["--redirect-uri", "http://localhost/?a=b"],
        ["--redirect-uri", "http://localhost:1", "--redirect-ports", "1-2"], ["--redirect-ports", "2-1"],
        ["--redirect-ports", "0-1"], ["--redirect-ports", "1-2-3"], ["--redirect-ports", "a"],
        ["--redirect-ports", "1-"],
    ])
    func refusesRedirectsThatCannotBe(arguments: [String]) {
        #expect(throws: UsageError.self) { try Self.redirect(arguments) }
    }

    @Test(arguments: [
        "http://127.0.0.1:1/?code=a&state=b", "  http://127.0.0.1:1/?code=a&state=b\r",
        "\"http://127.0.0.1:1/?code=a&state=b\"", " ' http://127.0.0.1:1/?code=a&state=b' ",
        "<http://127.0.0.1:1/?code=a&state=b>", "127.0.0.1:1/?code=a&state=b", " '127.0.0.1:1/?code=a&state=b' ",
    ])
    func takesAPastedAddressOutOfItsWrapping(line: String) throws {
        #expect(
            try PastedAddress(line, answering: Self.request()).url.absoluteString
                == "http://127.0.0.1:1/?code=a&state=b"
        )
    }

    /// The variable may be set for another redirect address.
    @Test func refusesPortsThatTheAddressDoesNotHave() throws {
        let custom = ["--redirect-uri", "com.example.app:/cb"]
        for isManual in [true, false] {
            let error = #expect(throws: UsageError.self) {
                try Self.redirect(custom + ["--redirect-ports", "1-2"], isManual: isManual)
            }
            #expect(error?.message.hasPrefix("--redirect-ports: ") == true)
        }
        #expect(throws: Never.self) { try Self.redirect(custom, ["IDENTITYCTL_REDIRECT_PORTS": "1-2"]) }
    }

    @Test(arguments: ["--browser", "--post-logout-redirect-uri"])
    func refusesWhatASignOutWithoutAPageIgnores(option: String) throws {
        func command(_ arguments: String...) throws -> LogoutCommand {
            try #require(try Identityctl.parseAsRoot(["logout"] + arguments) as? LogoutCommand)
        }
        let error = #expect(throws: UsageError.self) {
            try command(option, "x").refuseUnusedOptions(Variables([:]))
        }
        #expect(error?.message.hasPrefix("\(option): of use with --end-session only") == true)
        #expect(throws: Never.self) {
            try command(option, "x", "--end-session").refuseUnusedOptions(Variables([:]))
            try command(option, "x").refuseUnusedOptions(Variables(["IDENTITYCTL_END_SESSION": "1"]))
            try command().refuseUnusedOptions(Variables(["IDENTITYCTL_BROWSER": "w3m"]))
        }
    }

    @Test(arguments: ["", "yes", "http://127.0.0.1:1/", "code=a?state:b", "http://127.0.0.1:1/?code=a b", "\"", "\"\""])
    func refusesAPastedTextThatIsNoAnswer(line: String) {
        let error = #expect(throws: PastedAddress.Unusable.self) {
            try PastedAddress(line, answering: Self.request())
        }
        #expect(error?.description.hasPrefix("That is not an address: ") == true, "\(line)")
    }

    /// A grant that another option or command is for, in the words of the tool.
    @Test(arguments: [
        ("authorization_code", "Leave --grant out."), ("refresh_token", "identityctl import --refresh-token-file FILE"),
        ("urn:ietf:params:oauth:grant-type:device_code", "Give --device-code."),
        ("urn:ietf:params:oauth:grant-type:token-exchange", "Run: identityctl exchange"),
    ])
    func namesTheWayOfAGrantThatHasOne(_ grant: String, _ advice: String) {
        let error = #expect(throws: (any Error).self) { try LoginCommand.parse(["--grant", grant]) }
        #expect(error.map(LoginCommand.message)?.contains(advice) == true)
    }
}
