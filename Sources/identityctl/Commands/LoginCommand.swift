// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import IdentityClient
import IdentityKeyring
import IdentityResources

/// The command that signs in.
struct LoginCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "login",
        abstract: "Signs you in through the browser.",
        discussion: """
            The tokens are stored, and 'identityctl token' prints one later. This command prints a token only with \
            --print-token or --json, because its output may be kept in a log. On a computer without a browser, for \
            example over SSH, use --device-code if the provider offers it: you open a short address on any device, and \
            type a code. With --manual you open a long address in any browser, and paste the address at which the \
            browser ends. A script does the same in two commands: --start prints the address, and --finish reads the other \
            address from standard input. With --grant you sign in without a page, by an assertion of another system or a \
            grant of the provider's own; its secrets come from files.
            """
    )

    @OptionGroup var provider: ProviderOptions
    @OptionGroup var token: TokenOptions
    @OptionGroup var account: AccountOption
    @OptionGroup var scheme: SchemeOption
    @OptionGroup var signIn: SignInOptions
    @OptionGroup var grant: GrantOptions
    @OptionGroup var registration: RegistrationOptions
    @OptionGroup var browser: BrowserOption
    @OptionGroup var record: RecordOption
    @OptionGroup var output: OutputOptions

    @Flag(help: "Sign in only if 'identityctl token' would end with status 2; of several commands, one signs in.")
    var ifNeeded = false

    @Flag(
        help: ArgumentHelp(
            "Print the access token.",
            discussion: "Without this and --json, tokens that could not be stored are an error (status 4), and --cache "
                + "memory is wrong usage (64)."
        )
    )
    var printToken = false

    @Flag(
        help: ArgumentHelp(
            "Open a private window of the browser, or none (Firefox, Chromium, Chrome, Edge and their like).",
            discussion: "The browser knows nothing of its sessions there: Firefox, LibreWolf, Chromium, Chrome, Brave, "
                + "Vivaldi, Edge, Opera and GNOME Web, also as a Flatpak or snap. With any other browser the status "
                + "is 8."
        )
    )
    var privateWindow = false

    @Flag(help: "Show the address, and ask for the address at which the browser ends.")
    var manual = false

    @Flag(help: "Print the address of --manual, and end; --finish goes on.")
    var start = false

    @Flag(help: "Finish the sign-in of --start: the address at which the browser ended comes on standard input.")
    var finish = false

    @Flag(help: "Show an address and a code, which you type on any other device.")
    var deviceCode = false

    @Flag(
        help: ArgumentHelp(
            "The resource is a server of MCP: ask it by a message, too.",
            discussion: "Some name their document only in the answer to a message. 'identityctl mcp' does so by itself."
        )
    )
    var mcp = false

    func validate() throws {
        guard [manual, deviceCode, grant.type != nil].filter(\.self).count < 2 else {
            throw ValidationError("Give one of --manual, --device-code and --grant.")
        }
        guard [start, finish, deviceCode, grant.type != nil].filter(\.self).count < 2 else {
            throw ValidationError("Give one of --start, --finish, --device-code and --grant.")
        }
        guard !(start || finish) || !ifNeeded else {
            throw ValidationError(
                "--if-needed is not possible with --start and --finish: run 'identityctl token' before them."
            )
        }
        guard !start || !printToken else {
            throw ValidationError("--start gets no token: give --print-token with --finish.")
        }
    }

    func advice(on error: any Error, in session: Session) -> String? {
        if let advice = adviceOnPerson(error, session) { return advice }
        if (error as? AuthenticationError)?.retryAfter != nil {
            return "After that time, run: \(optionsOfLogin.command("login"))"
        }
        return switch try? method(session.environment) {  // the options themselves may be wrong
        case .browser: elsewhere.after(error, of: session.environment.profile)
        case .deviceCode: DeviceSignIn.advice(on: error)
        case .manual: finish ? adviceAfterFinish(error) : nil
        case .grant, nil: nil
        }
    }

    var clientOptions: ProviderOptions? { provider }
    var isAboutSignIns: Bool { true }
    func recording() throws -> Recording? { try record.recording(of: "login") }

    var sharedOptions: SharedOptions { provider.shared(token, account, scheme) }

    private var elsewhere: ElsewhereAdvice { ElsewhereAdvice(options: optionsOfLogin) }

    /// The options of this command, for another sign-in.
    var optionsOfLogin: SharedOptions { mcp ? sharedOptions.adding(flag: "--mcp") : sharedOptions }

    func run(in session: Session) async throws { try await choosingStore(session).run(in: session, asking: nil) }

    /// - Parameters:
    ///   - question: The question before the sign-in at a server that is known. With it, a page opens in any case.
    ///   - isRefused: Whether the resource takes the tokens that there are no more.
    func run(in session: Session, asking question: BrowserQuestion?, isRefused: Bool = false) async throws {
        if let address = try provider.namedResource(session.environment) {
            try await signIn(in: session, for: address, isRefused: isRefused, asking: question)
        } else {
            try await signInRegistering(in: session, asking: question)
        }
    }

    /// Signs in as the options and the lines say.
    ///
    /// - Parameters:
    ///   - resource: The resource that was found, and to whose question the person has agreed.
    ///   - isQuiet: Whether another command goes on with the tokens.
    ///   - asked: The question before the page, which then opens in any case.
    func signIn(
        in session: Session,
        for resource: AgreedResource? = nil,
        isQuiet: Bool = false,
        asking asked: BrowserQuestion? = nil
    ) async throws {
        let environment = session.environment
        let method = try method(environment)
        try refuseUnusedOptions(by: method)
        var parameters = try signIn.parameters(token, environment)
        parameters.requiresPersistence = true
        parameters.scheme = try scheme.chosen(environment)
        if printToken, parameters.scheme == .pop {
            throw UsageError("--print-token: a token that is bound to a key is of no use without it. Leave one out.")
        }
        let given = try environment.given("account", account.account)
        let application = try session.application(
            provider,
            prompting: environment.hasScreen ? .allowed() : .never
        ) { configuration in
            configuration.redirectURI = try signIn.redirect(environment, isManual: method == .manual)
            configuration.requestTimeout = min(configuration.requestTimeout, parameters.timeout)
            configuration.compatibility.pushedAuthorizationRequests = try signIn.pushPolicy(environment)
            var launcher = try launcher(environment)
            if resource == nil { launcher.question = asked }
            configuration.browser = ReportingBrowser(
                launcher: resource?.browser ?? launcher,
                console: session.console,
                elsewhere: elsewhere
            )
            configuration.redirectReceiver = receiver(
                for: configuration.redirectURI,
                method,
                takesAnyPort: resource?.takesAnyPort ?? false,
                session
            )
        }
        let isPersistent = !(application.configuration.cache is InMemoryTokenCache)
        guard try start || isPersistent || session.isJSON || prints(environment) else {
            throw UsageError("--cache memory keeps no token: give --print-token or --json as well, or another cache.")
        }
        var turn: HeldLock?
        defer { turn?.end() }
        let previous = try? await application.defaultAccount()  // the sign-in reports what cannot be read
        if finish {
            let (result, wanted) = try await finishSignIn(application, session, within: parameters.timeout)
            try await keep(resource, application)
            return try await end(with: result, wanted, after: previous, session, application)
        }
        let opens = asked != nil || resource?.opens == true
        let isIfNeeded = try !opens && (isQuiet || !start && environment.isOn("if-needed", ifNeeded))
        if isIfNeeded {
            switch try await need(given, parameters, application, session.console) {
            case .none(let result):
                session.warn(ofClaimsMissingIn: result, wanting: parameters.scopes)
                await session.keepAccountOfProfile(result.account, provider, application)
                try await keep(resource, application)
                return isQuiet ? () : try await end(with: result, session, isPersistent: isPersistent)
            case .signIn(let lock): turn = lock
            }
        }
        let isStrict = try isIfNeeded || session.isJSON || prints(environment)
        let wanted = try await application.required(given, isStrict: isStrict)
        if wanted == nil, parameters.prompt == .providerDefault, let own = given?.account, !own.isSignedOut {
            parameters.loginHint = parameters.loginHint ?? own.username
        }
        if isIfNeeded {
            // Each sign-in at such a server makes a new account, unless it names an account.
            if wanted == nil, !application.configuration.authority.issuesIDTokens {
                parameters.account = try await application.defaultAccount()
            }
        }
        try await parameters.ask(for: wanted, application)
        if start { return try await startSignIn(parameters, wanted, application, session) }
        let result = try await result(by: method, parameters, given, application, session, watches: isIfNeeded)
        try await keep(resource, application)
        if isQuiet {
            try await application.check(result.account, is: wanted)
            if isPersistent { await session.keepAccountOfProfile(result.account, provider, application) }
            return session.console.line("Signed in.")
        }
        try await end(with: result, wanted, after: previous, session, application)
    }

    /// Keeps what was found of a resource, with its tokens.
    private func keep(_ resource: AgreedResource?, _ application: PublicClientApplication) async throws {
        guard let resource, !(application.configuration.cache is InMemoryTokenCache) else { return }
        var known = resource.known
        if known.kind == .given { known.redirectURI = application.configuration.redirectURI }
        try await resource.found.keep(known)
    }

    func launcher(_ environment: Variables) throws -> SystemBrowserLauncher {
        SystemBrowserLauncher(
            command: try browser.command(environment),
            inPrivateWindow: try environment.isOn("private-window", privateWindow),
            withholding: Variables.secrets
        )
    }

    /// Reports a new sign-in.
    ///
    /// - Parameter previous: The default account before it.
    private func end(
        with result: AuthenticationResult,
        _ wanted: Given?,
        after previous: Account?,
        _ session: Session,
        _ application: PublicClientApplication
    ) async throws {
        let isPersistent = !(application.configuration.cache is InMemoryTokenCache)
        try await application.check(result.account, is: wanted)
        let declined = result.declinedScopes.map(\.rawValue.printable).sorted()
        if !declined.isEmpty { session.console.line("Warning: not granted: \(declined.joined(separator: ", "))") }
        if !result.hasRefreshToken {
            session.console.line(
                """
                Warning: the provider gave no refresh token, so you have to sign in again in \
                \(Duration.seconds(result.expiresOn.timeIntervalSinceNow).clockText). Some providers give one only when they ask for consent \
                (--prompt consent, in a profile prompt = consent); others must be told to at the client's registration \
                (offline_access).
                """
            )
        }
        if await session.storageFailure(of: result) == nil {
            try await report(result, after: previous, isPersistent: isPersistent, session, application)
        }
        try await end(with: result, session, isPersistent: isPersistent)
    }

    /// Says who is signed in, with tokens that are stored.
    private func report(
        _ result: AuthenticationResult,
        after previous: Account?,
        isPersistent: Bool,
        _ session: Session,
        _ application: PublicClientApplication
    ) async throws {
        session.console.line(
            application.configuration.authority.issuesIDTokens
                ? "Signed in as \(result.account.shortLabel)."
                : "Signed in. The server does not say who that is; the account's id is \(result.account.label)"
        )
        guard isPersistent else { return }
        if previous == nil, let path = await application.configuration.directoryOfAnotherKernel {
            session.console.line("Note: \(path.printable): \(SharedDisk.note).")
        }
        await session.keepAccountOfProfile(result.account, provider, application)
        if let previous, previous.id != result.account.id {
            session.console.line(
                "The default account is \(result.account.label) now. Before, it was \(previous.label). To change it, run: "
                    + sharedOptions.ofProviderAndCache.command("accounts --default NAME")
            )
        }
        let scopes = try token.scopes(session.environment)
        try await application.checkAccount(of: session.environment.profile, beside: result, scopes)
    }

    /// Prints the token if requested, and otherwise names the command that prints it.
    private func end(with result: AuthenticationResult, _ session: Session, isPersistent: Bool) async throws {
        let isBound = result.scheme != .bearer
        guard try !session.isJSON && (isBound || !prints(session.environment)) else {
            return try await session.write(result, isPersistent: isPersistent)
        }
        if let failure = await session.storageFailure(of: result) { throw failure.ofAWrite }
        guard !isBound, result.source != .cache || session.console.isTerminal else { return }
        // The store is remembered; another kind of cache is not.
        let isRemembered = try provider.cacheChoice(session.environment).policy != nil
        let options = isRemembered ? sharedOptions.without("--cache") : sharedOptions
        if let command = try profileCommand(session) {
            session.console.line("To keep these options under a name, run: \(command)")
        }
        session.console.line("To print the access token, run: \(options.command("token"))")
    }

    private func prints(_ environment: Variables) throws -> Bool { try environment.isOn("print-token", printToken) }

    /// - Parameter watches: Whether the sign-in of another command ends this one.
    private func result(
        by method: Method,
        _ parameters: InteractiveParameters,
        _ wanted: Given?,
        _ application: PublicClientApplication,
        _ session: Session,
        watches: Bool
    ) async throws -> AuthenticationResult {
        if method == .grant {
            return try await application.acquireToken(
                grantType: grant.type ?? "",
                parameters: grant.parameters(),
                scopes: parameters.scopes,
                account: parameters.account
            )
        }
        let device =
            try method == .deviceCode
            ? signIn.deviceParameters(parameters, session.environment, for: wanted) : nil
        let (console, elsewhere) = (session.console, elsewhere)
        let isGiven = try start || finish || session.environment.isOn("manual", manual)
        let pasting = isGiven ? nil : reasonForPasting(try browser.command(session.environment))
        let code = optionsOfLogin.command("login --device-code")
        let work = { @Sendable () async throws -> AuthenticationResult in
            if let device { return try await DeviceSignIn(application: application, session: session).run(device) }
            if method == .manual {
                if let pasting {
                    console.line("No browser opens here: \(pasting).")
                    console.line(
                        "Sign in with a browser anywhere. For a code in its place, press Ctrl-C and run: \(code)"
                    )
                }
                return try await ManualSignIn(application: application, console: console).run(parameters)
            }
            return try await BrowserSignIn(application: application, session: session, elsewhere: elsewhere).run(
                parameters
            )
        }
        guard watches else { return try await work() }
        return try await application.watching(for: wanted, parameters, console, while: work)
    }
}

extension LoginCommand {
    /// Returns the receiver of the redirect. A custom scheme needs the desktop's help, which may not be set up yet.
    private func receiver(
        for redirectURI: RedirectURI,
        _ method: Method,
        takesAnyPort: Bool,
        _ session: Session
    ) -> any RedirectReceiver {
        guard let scheme = redirectURI.customScheme else {
            return WaitingRedirectReceiver(
                LoopbackRedirectReceiver(applicationName: "identityctl"),
                takesAnyPort: takesAnyPort
            ) { wait in
                session.console.line(wait)
                session.noteCourse(wait)
            }
        }
        // Without a home directory, nothing is registered.
        let directories = try? SchemeRegistration.Directories(session.environment)
        let isInstalled = directories.map { SchemeRegistration(scheme: scheme, directories: $0).isInstalled } ?? false
        if method != .manual, !isInstalled {
            session.console.line(
                "Note: unless another program handles it, run 'identityctl register-scheme \(scheme)' first."
            )
        }
        return CustomSchemeRedirectReceiver()
    }
}
