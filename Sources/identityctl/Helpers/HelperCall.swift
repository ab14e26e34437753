// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

/// The options and the operation of a call.
struct HelperCall {
    /// The username that most servers accept with a token.
    static let anyUsername = "oauth2"

    /// Whether a username in an address is a person's, and none that servers want where a token is the password.
    static func isOfPerson(_ name: String) -> Bool {
        let others = ["oauth2accesstoken", "x-access-token", "x-token-auth", "VssSessionToken", "__token__"]
        return name != anyUsername && !others.contains(name)
    }

    let operation: String
    /// The values of the options that only this helper has; empty for those without a value.
    let own: [String: String]
    private let isChosenByItsFile: Bool
    private let token: TokenCommand
    private var serves: String? { own["--serves"] }
    private var username: String? { own["--username"] }

    /// The time that a server may take.
    var timeout: Duration { get throws { try token.silent.wait() } }

    /// - Throws: `UsageError` for options that a helper does not know.
    init(_ helper: Helper, _ arguments: [String]) throws {
        var words = arguments[...]
        isChosenByItsFile = helper.isChosenByItsFile
        guard let operation = helper.hasOperation ? words.popLast() : "get" else {
            throw UsageError("A helper needs an operation, such as 'get'.")
        }
        self.operation = operation
        var rest: [String] = []
        var own: [String: String] = [:]
        while let word = words.popFirst() {
            switch word {
            case _ where helper.options.contains(word): own[word] = words.popFirst() ?? ""
            case _ where helper.flags.contains(word): own[word] = ""
            default: rest.append(word)
            }
        }
        let known = TokenCommand(quickly: ["token"] + rest)
        guard let token = known, !token.silent.idToken, !token.silent.forceRefresh, !token.output.json else {
            let own = helper.options.isEmpty ? "" : "\(helper.options.sorted().joined(separator: ", ")) and "
            throw UsageError("This helper takes \(own)the options of 'token' that have a value, with full names.")
        }
        self.token = token
        self.own = own
    }

    /// Returns what gives the token for an address, or `nil` if nothing serves the address.
    ///
    /// That is the client that an option, a variable or `--profile` names, if it serves the address. A client that options
    /// do not name is passed over if it does not: the profile that serves the address stands in, without the variables. With
    /// an agent it is the agent's profile. A file of the program's own, kubeconfig for example, says which server a client is for, if neither `--serves` nor,
    /// for a client that only variables name, a line of the profile does.
    ///
    /// - Parameter username: The name in the address. A person's name chooses the profile and the account.
    func source(for address: ServedAddress?, of username: String? = nil, in session: Session) throws -> HelperSource? {
        let (variables, options) = (session.environment.above(nil), token.provider)
        let agent = try variables.given("agent", nil)
        let person = username.flatMap { Self.isOfPerson($0) ? $0 : nil }
        let isChosen = options.namesOne(Environment([:])) || options.profile != nil
        let isNamed = try isChosen || options.namesOne(variables) || variables.given("profile", nil) != nil
        var environment: Environment?
        var asked: ServedAddress?
        if isNamed || (isChosenByItsFile && address == nil) {
            let named = try agent == nil ? options.environment(above: variables) : variables
            let served = try named.words("serves", serves.map { [$0] } ?? []).map(ServedAddress.init(option:))
            let isAsChosen = isChosenByItsFile && (served.isEmpty || isChosen && serves == nil)
            if served.isEmpty, agent != nil, !isChosenByItsFile {
                guard let address else { return nil }
                (environment, asked) = (named, address)  // the agent knows what its profile serves
            } else if isAsChosen || served.contains(where: { $0.serves(address) }) {
                environment = named
            } else if isChosen || serves != nil || agent != nil {
                return nil
            }
        } else if agent != nil {
            guard let address else { return nil }
            (environment, asked) = (variables, address)
        }
        if environment == nil {
            guard let address, let profile = try profile(serving: address, for: person, in: session) else { return nil }
            // Variables that name another client belong to that one.
            environment = (isNamed ? variables.withoutOptions : variables).above(profile)
        }
        guard let environment else { return nil }
        let own = try environment.given("username", self.username)?.text
        guard own?.utf8.hasControls != true else {
            throw UsageError("--username: control characters are not possible.")
        }
        return HelperSource(
            environment: environment,
            username: own,
            person: own == nil || own != username ? person : nil,
            command: token,
            agent: agent.map { ($0, asked) }
        )
    }

    private func profile(serving address: ServedAddress, for person: String?, in session: Session) throws -> Profile? {
        let directory: ProfileDirectory
        do {
            directory = try ProfileDirectory(session.environment)
        } catch {
            session.console.line("No profile gives a token for \(address.text). \(PlainReport.sentence(error))")
            return nil
        }
        return try directory.profile(serving: address, for: person) { session.console.line("Warning: \($0)") }
    }

    /// Returns what gives the token for an address by the sign-in for it: that of the profile that is named, if its resource is
    /// there. Returns `nil` without one, or with an agent.
    func source(ofResource address: String, in session: Session) throws -> HelperSource? {
        var variables = session.environment.above(nil)
        guard try variables.given("agent", nil) == nil else { return nil }
        // Variables that name another client belong to that one.
        if token.provider.namesOne(variables) { variables = variables.withoutOptions }
        let given = try variables.given("profile", token.provider.profile)
            .flatMap { $0.text == ProfileName.none ? nil : $0 }
        let named = try given.flatMap { _ in try token.provider.environment(above: variables).profile }
        let chosen = try named?.reaches(address) == true ? named : nil
        // A variable may name a profile for other addresses.
        guard chosen != nil || given?.isOption != true,
            let lines = try chosen ?? KnownResources(variables).profile(for: address)
        else { return nil }
        return HelperSource(
            environment: variables.above(lines),
            username: nil,
            person: nil,
            command: token,
            agent: nil
        )
    }

    /// Returns what gives the token for a program that names no address: the client that an option, a variable, or
    /// `--profile` names, or else the default profile.
    func source(in session: Session) throws -> HelperSource {
        let environment = try token.environment(above: session.environment)
        let agent = try environment.given("agent", nil).map { (socket: $0, serves: ServedAddress?.none) }
        return HelperSource(environment: environment, username: nil, person: nil, command: token, agent: agent)
    }
}
