// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import OAuthWire

/// The options that give the token for an address.
struct HelperSource: Sendable {
    let route: TokenRoute
    let command: TokenCommand

    /// The username that goes with the token, if one was chosen.
    var username: String? { route.username }
    private var environment: Environment { route.environment }

    /// Returns the token for a program that names no address.
    ///
    /// - Throws: `HelperFailure`, and `.cache` if an agent gives no token.
    func anyToken(in session: Session, wantsIDToken: Bool = false) async throws -> HelperToken {
        guard let token = try await token(in: session, wantsIDToken: wantsIDToken) else {
            throw AuthenticationError.agent("unavailable", "The agent's answer has no token.")
        }
        return token
    }

    /// Returns the token, from the cache or renewed; `nil` if the agent serves no such address, or if the account with the
    /// asked name is not signed in and another one is. No person is asked.
    ///
    /// - Parameter refused: The token that a server refused, in place of which another one is wanted.
    /// - Throws: `HelperFailure`.
    func token(
        in session: Session,
        wantsIDToken: Bool = false,
        insteadOf refused: String? = nil
    ) async throws -> HelperToken? {
        do {
            var wanted = try WantedToken(
                command.token,
                command.account,
                command.silent,
                environment,
                minimumValidity: .seconds(60)
            )
            wanted.isIDToken = wantsIDToken
            wanted.refusedToken = refused
            if let agent = route.agent {
                guard let person = route.person else {
                    return try await token(wanted, through: agent, serves: route.served?.text)
                }
                return try await token(wanted, of: person, through: agent, serves: route.served?.text, session)
            }
            let application = try session.application(
                try command.provider.configuration(environment, logger: session.logger)
            )
            if let person = route.person, try await !application.allAccounts().isEmpty {
                // The account of the profile's first sign-in is the usual one; a name in the address chooses another one.
                if wanted.account?.account?.isSignedOut == false { wanted.account = nil }
                guard try await application.has(person, among: wanted.account) else {
                    return noToken(of: person, session)
                }
                wanted.account = wanted.account ?? Given(text: person, origin: "username")
            }
            let token = try await acquire(wanted, from: application, in: session)
            _ = await session.storageFailure(of: token.result)
            return try HelperToken(token.text, expiresOn: token.expiresOn)
        } catch {
            throw HelperFailure(cause: error, options: advised)
        }
    }

    /// Acquires the token; where a line `sign-in` allows it, after a sign-in at this desktop.
    private func acquire(
        _ wanted: WantedToken,
        from application: PublicClientApplication,
        in session: Session
    ) async throws -> HandedToken {
        do {
            return try await wanted.acquire(from: application, in: session)
        } catch let error as AuthenticationError where .interactionRequired ~= error.code {
            guard let signIn = try HelperSignIn(environment, advised) else { throw error }
            return try await signIn.result(after: error, session.console) {
                try await wanted.acquire(from: application, in: session)
            }
        }
    }

    /// Asks the agent for the account with a name, or else for the one whose profile has a line with that username.
    private func token(
        _ wanted: WantedToken,
        of person: String,
        through socket: Given,
        serves: String?,
        _ session: Session
    ) async throws -> HelperToken? {
        var named = wanted
        named.account = named.account ?? Given(text: person, origin: "username")
        do {
            guard let token = try await token(named, of: person, through: socket, serves: serves) else { return nil }
            return token.username == person || token.isOf(person) ? token : noToken(of: person, session)
        } catch let error as AuthenticationError where error.code == .noTokensFound {
            guard wanted.account == nil else { return noToken(of: person, session) }
            guard let token = try await token(wanted, of: person, through: socket, serves: serves) else { return nil }
            return token.username == person ? token : noToken(of: person, session)
        }
    }

    private func noToken(of person: String, _ session: Session) -> HelperToken? {
        session.console.line(
            "No account '\(person.printable)' is signed in for this address, and no other account's token goes under that name."
        )
        session.console.line("To sign in, run: \(advised.adding("--login-hint", person).command("login"))")
        session.console.line(
            "If only the server knows the name, the profile needs the line: username = \(person.printable)"
        )
        return nil
    }

    /// The options of the command that signs in.
    private var advised: SharedOptions {
        let options = command.sharedOptions
        guard let profile = environment.profile else { return options }
        guard profile.isNamed else {
            return options.replacing("--resource", with: profile.given("resource")?.text ?? "")
        }
        return options.replacing("--profile", with: profile.name.text)
    }

    private func token(
        _ wanted: WantedToken,
        of person: String? = nil,
        through socket: Given,
        serves: String?
    ) async throws -> HelperToken? {
        var request = try AgentRequest.Token(command.provider, wanted, environment, for: "helper", socket)
        request.serves = serves
        request.username = person
        do {
            let answer = try await AgentClient(socket: socket).ask(.token(request), within: wanted.timeout)
            // Another agent may not know the member, and give a token for elsewhere.
            guard answer.string("serves") == serves else {
                throw AuthenticationError.agent("unavailable", "The agent's answer has no token for that address.")
            }
            let token = try request.token(in: answer)
            return try HelperToken(
                token.text,
                expiresOn: token.expiresOn,
                username: answer.string("username"),
                account: answer.object("report")?.object("account")
            )
        } catch let error as AuthenticationError where error.code == .notServed {
            return nil
        }
    }
}

/// The token that a helper hands out.
struct HelperToken: Sendable {
    let text: String
    let expiresOn: Date
    /// The username that the agent's profile names, if there is one.
    let username: String?
    /// The account that the agent tells.
    private let account: JSONObject?

    /// - Throws: `UsageError` for a token that no program accepts, and for a username with control characters.
    init(_ text: String, expiresOn: Date, username: String? = nil, account: JSONObject? = nil) throws {
        try text.checkAsToken()
        guard username?.utf8.hasControls != true else {
            throw UsageError("The username in the agent's answer has control characters.")
        }
        self.text = text
        self.expiresOn = expiresOn
        self.username = username
        self.account = account
    }

    /// Whether the account has the id or the username.
    fileprivate func isOf(_ person: String) -> Bool {
        account?.string("id") == person || account?.string("username")?.lowercased() == person.lowercased()
    }
}

extension PublicClientApplication {
    /// Whether an account with this id or username is signed in, and is the one that `chosen` names, if it names one.
    fileprivate func has(_ name: String, among chosen: Given?) async throws -> Bool {
        let byID = try await account(withID: Account.ID(rawValue: name))
        let named = try await [byID].compactMap(\.self) + accounts(withUsername: name)
        guard let chosen else { return !named.isEmpty }
        let id = try await chosenAccount(chosen).id
        return named.contains { $0.id == id }
    }
}
