// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityResources
import OAuthWire
import SystemSupport

/// A resource to whose question the person has agreed.
struct AgreedResource: Sendable {
    let found: FoundResource
    /// The findings, which are kept after the sign-in.
    let known: KnownResource
    /// The browser that waits for the server's page; `nil` if there is none.
    let browser: AskedBrowser?
    /// Whether a page opens in any case, also if there is a token.
    let opens: Bool
    /// Whether the browser may come back to any port.
    let takesAnyPort: Bool
}

// A sign-in for a resource of which no more than the address may be known.
extension LoginCommand {
    /// Asks the resource, the person, and then the server for a client, and signs in.
    ///
    /// - Parameters:
    ///   - isQuiet: Whether another command goes on with the tokens.
    ///   - isRefused: Whether the resource takes the tokens that there are no more.
    ///   - forgotten: The registered client that the server does not know any more.
    ///   - asked: The question before a sign-in at a server that is known. With it, a page opens in any case.
    func signIn(
        in session: Session,
        for address: Given,
        isQuiet: Bool = false,
        isRefused: Bool = false,
        replacing forgotten: ClientID? = nil,
        asking asked: BrowserQuestion? = nil
    ) async throws {
        try refuseUnusedOptions(by: method(session.environment))
        let isIfNeeded = try isQuiet || !start && !finish && session.environment.isOn("if-needed", ifNeeded)
        var refused = try forgotten ?? notedClient(session)
        var turn: HeldLock?
        defer { turn?.end() }
        if !isRefused, asked == nil {
            if !isIfNeeded {
                // The sign-in reports whatever else is wrong.
                _ = try? await isSignedIn(session, &refused)
            } else if try await isSignedIn(session, &refused) {
                return try await end(session, isQuiet)
            } else {
                // One command asks and registers; the others take what it brings.
                turn = try await turnToSignIn(for: address, session)
                if let known = try KnownResources(session.environment).profile(for: address.text) {
                    session.adopt(known)
                }
                if try await isSignedIn(session, &refused) { return try await end(session, isQuiet) }
            }
        }
        let found: FoundResource
        do {
            let search = try await ResourceSearch(for: address, provider, registration, token, isMCP: mcp, session)
            found = try await session.console.bounded(
                by: signIn.parameters(token, session.environment).timeout,
                search.run
            )
        } catch let error as AuthenticationError
            where session.environment.profile?.isOfResource == true && .network ~= error.code
        {
            return try await signIn(in: session, isQuiet: isQuiet, asking: asked)
        }
        let browser = try await agreed(to: found.question ?? asked, found, address, session)
        func resource(_ client: (ClientRegistration, KnownResource), _ browser: AskedBrowser?) -> AgreedResource {
            AgreedResource(
                found: found,
                known: client.1,
                browser: browser,
                opens: isRefused || asked != nil,
                takesAnyPort: client.0.takesAnyPort
            )
        }
        do {
            let client = try await found.client(replacing: refused)
            let known = client.1
            do {
                try await signIn(in: session, for: resource(client, browser), isQuiet)
            } catch let error as AuthenticationError
                where .clientNotRegistered ~= error.code && known.kind == .registered
            {
                // The server has forgotten the client.
                let new = try await found.client(replacing: known.clientID)
                session.console.line("The server does not know its registration any more. Registered anew.")
                try await signIn(in: session, for: resource(new, nil), isQuiet)
            }
        } catch {
            browser?.end(error)
            throw error
        }
    }

    private func signIn(in session: Session, for resource: AgreedResource, _ isQuiet: Bool) async throws {
        // Options that name the client and the server count as they are.
        if try provider.wholeResource(session.environment) == nil {
            session.adopt(try resource.found.profile(resource.known))
        }
        let scopes = resource.known.scopes
        session.console.line(
            "Signing in for \(resource.known.identifier.printable) with \(scopes.isEmpty ? "the server's scopes" : scopes.listing.printable)."
        )
        try await signIn(in: session, for: resource, isQuiet: isQuiet)
    }

    /// The end of a command that finds itself signed in.
    private func end(_ session: Session, _ isQuiet: Bool) async throws {
        if !isQuiet { try await signIn(in: session) }
    }

    /// Whether a token of a known resource can be had without a person.
    ///
    /// - Parameter refused: Becomes the registered client that the server does not know any more.
    private func isSignedIn(_ session: Session, _ refused: inout ClientID?) async throws -> Bool {
        let environment = session.environment
        guard let profile = environment.profile, profile.isOfResource, !start, !finish else { return false }
        let application = try session.application(provider)
        let parameters = try signIn.parameters(token, environment)
        do {
            let account = try environment.given("account", account.account)
            return try await application.acquireTokenIfSignedIn(account, parameters) != nil
        } catch let error as AuthenticationError
            where .clientNotRegistered ~= error.code && profile.isOfRegistration
        {
            refused = application.configuration.clientID
            return false
        }
    }

    /// The client of which an earlier refresh learned that the server has forgotten it; `nil` if there is none.
    func notedClient(_ session: Session) throws -> ClientID? {
        guard let profile = session.environment.profile,
            try KnownResources(session.environment).forgotten(profile) != nil
        else { return nil }
        return profile.given("client-id").map { ClientID(rawValue: $0.text) }
    }

    private func turnToSignIn(for address: Given, _ session: Session) async throws -> HeldLock? {
        let parameters = try signIn.parameters(token, session.environment)
        return try await SignInTurn.ofCommand(
            in: try RuntimeDirectory.path(),
            of: ["resource", address.text],
            ClientSoftware.identityctl.group,
            // The question has as much time as the page that follows.
            parameters.timeout * 2,
            session.console
        )
    }

    /// Asks the person, in the browser that goes on to the server's page, or at the terminal.
    ///
    /// - Returns: The browser that waits for the page; `nil` if there is none.
    private func agreed(
        to question: BrowserQuestion?,
        _ found: FoundResource,
        _ address: Given,
        _ session: Session
    ) async throws -> AskedBrowser? {
        guard let question, !finish else { return nil }
        let (console, environment) = (session.console, session.environment)
        if try method(environment) == .browser, !start,
            InteractionEnvironment.current(browserCommand: try browser.command(environment)).browserProblem == nil
        {
            console.line("The browser asks first whether to sign in at \(found.authority.url.printable).")
            session.noteCourse(hasPage: true)
            do {
                let limit = try signIn.parameters(token, environment).timeout
                return try await launcher(environment).ask(question, within: limit)
            } catch let error as AuthenticationError where .browserUnavailable ~= error.code && console.isTerminal {
                console.line(error.message.printable)
            }
        }
        var options = optionsOfLogin.replacing("--resource", with: address.text)
        if manual { options = options.adding(flag: "--manual") }
        if deviceCode { options = options.adding(flag: "--device-code") }
        let command = options.replacing("--issuer", with: found.authority.url).command("login")
        try await found.ask(question, console, orRun: command)
        return nil
    }
}

extension ResourceSearch {
    /// The message that begins a session of MCP.
    private static let initialize = Array(
        """
        {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},\
        "clientInfo":{"name":"identityctl","version":"\(LibraryVersion.current)"}}}
        """.utf8
    )

    /// The search that the options ask for.
    ///
    /// - Parameter isMCP: Whether the person calls the address a server of MCP.
    /// - Throws: `UsageError`.
    init(
        for address: Given,
        _ provider: ProviderOptions,
        _ registration: RegistrationOptions,
        _ token: TokenOptions,
        isMCP: Bool = false,
        _ session: Session
    ) async throws {
        let environment = session.environment
        let (profile, variables) = (environment.profile, environment.above(nil))
        guard WebAddress(address.text) != nil else {
            throw address.error("'\(address.text.printable)': \(ProviderOptions.noResource)")
        }
        self.init(
            address.text,
            software: try await registration.software(environment, provider),
            cache: try provider.cacheOfRegistrations(session),
            memory: try KnownResources(environment)
        )
        transport = try provider.transport(environment)
        if isMCP || profile?.isOfMCP == true { message = Self.initialize }
        isWhole = try provider.wholeResource(environment) != nil
        let issuer = try variables.given("issuer", provider.issuer)
        let ofProfile = profile?.own("issuer")
        self.issuer = issuer?.text ?? ofProfile
        isNamed =
            if let issuer {
                issuer.isOption && address.isOfCall
            } else {
                // A profile is the person's, or the administrator's.
                ofProfile != nil && profile?.own("resource").map { WireText.areSame($0, address.text) } == true
            }
        clientID = try (variables.given("client-id", provider.clientID)?.text ?? profile?.own("client-id")).map(
            ClientID.init(rawValue:)
        )
        let scopes = try token.scopes(profile?.isOfResource == true ? variables : environment)
        self.scopes = scopes.isEmpty ? nil : scopes
        dpop = try provider.dpopPolicy(environment)
        assumesPKCE = try environment.isOn("assume-pkce", provider.assumePKCE)
    }
}

extension FoundResource {
    /// The lines that the sign-in, and later commands, read.
    func profile(_ known: KnownResource) throws -> Profile { try Profile(known, path: resource.identifier) }

    /// Asks on the terminal, where no page can.
    ///
    /// - Parameter command: The command that answers beforehand.
    /// - Throws: `.userCancelled` without consent; `.noTokensFound` if there is no terminal to ask on.
    func ask(_ question: BrowserQuestion, _ console: Console, orRun command: String) async throws {
        guard console.isTerminal else {
            throw AuthenticationError(
                .noTokensFound,
                "A person has to say whether to sign in at \(authority.url.printable) for \(resource.place.printable), and none can be "
                    + "asked here.",
                underlyingError: UnansweredQuestion(command: command)
            )
        }
        for line in [question.title] + question.sentences { console.line(line.printable) }
        for detail in question.details { console.line("  \(detail.label): \(detail.text.printable)") }
        console.line("Sign in? [y/N]")
        let lines = try await LineReader(missing: "Nothing was typed")
        let answer = try await lines.next(until: .now + .seconds(300)).lowercased()
        guard ["y", "yes"].contains(answer) else {
            throw AuthenticationError(.userCancelled, "The sign-in at \(authority.url) was refused.")
        }
    }
}
