// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

/// The options and the operation of a call.
struct HelperCall {
    /// The username that most servers accept with a token.
    static let anyUsername = "oauth2"

    let operation: String
    let wantsAccessToken: Bool
    /// The values of the options that only this program has.
    let own: [String: String]
    private let isKubectl: Bool
    private let token: TokenCommand
    private var serves: String? { own["--serves"] }
    private var username: String? { own["--username"] }

    /// The time that a server may take.
    var timeout: Duration { get throws { try token.silent.wait() } }

    /// - Throws: `UsageError` for options that a helper does not know.
    init(_ program: HelperProgram, _ arguments: [String]) throws {
        var words = arguments[...]
        isKubectl = program == .kubectl
        guard let operation = program.hasOperation ? words.popLast() : "get" else {
            throw UsageError("A helper needs an operation, such as 'get'.")
        }
        self.operation = operation
        var rest: [String] = []
        var own: [String: String] = [:]
        var wantsAccessToken = false
        while let word = words.popFirst() {
            switch word {
            case _ where program.options.contains(word): own[word] = words.popFirst() ?? ""
            case "--access-token" where isKubectl: wantsAccessToken = true
            default: rest.append(word)
            }
        }
        let known = TokenCommand(quickly: ["token"] + rest)
        guard let token = known, !token.silent.idToken, !token.silent.forceRefresh, !token.output.json else {
            throw UsageError(
                "This helper takes \(program.options.sorted().joined(separator: ", ")) and the options of 'token' that "
                    + "have a value, with full names."
            )
        }
        self.token = token
        self.wantsAccessToken = wantsAccessToken
        self.own = own
    }

    /// Returns what gives the token for an address, or `nil` if nothing serves the address.
    ///
    /// That is the client that an option, a variable or `--profile` names, if it serves the address, or else the profile
    /// that does. With an agent it is the agent's profile. Kubectl's own file says which cluster a client is for, if neither
    /// `--serves` nor a line of the profile does.
    func source(for address: ServedAddress?, in session: Session) throws -> HelperSource? {
        let (variables, options) = (session.environment, token.provider)
        let isNamed = try options.namesOne(variables) || variables.given("profile", options.profile) != nil
        let agent = try variables.given("agent", nil)
        let environment: Environment
        var asked: ServedAddress?
        if isNamed || (isKubectl && address == nil) {
            environment = try agent == nil ? options.environment(above: variables) : variables
            let served = try environment.words("serves", serves.map { [$0] } ?? []).map(ServedAddress.init(option:))
            if served.isEmpty, agent != nil, !isKubectl {
                guard let address else { return nil }
                asked = address  // the agent knows what its profile serves
            } else {
                guard served.isEmpty ? isKubectl : served.contains(where: { $0.serves(address) }) else { return nil }
            }
        } else if agent != nil {
            guard let address else { return nil }
            (environment, asked) = (variables, address)
        } else {
            guard let address, let directory = try? ProfileDirectory(variables),
                let profile = try directory.profile(
                    serving: address,
                    problem: { session.console.line("Warning: \($0)") }
                )
            else { return nil }
            environment = variables.above(profile)
        }
        let username = try environment.given("username", username)
        guard username?.text.utf8.hasControls != true else {
            throw UsageError("--username: control characters are not possible.")
        }
        return HelperSource(
            environment: environment,
            username: username?.text,
            command: token,
            agent: agent.map { ($0, asked) }
        )
    }

    /// Returns what gives the token for a program that names no address: the client that an option, a variable, or
    /// `--profile` names, or else the default profile.
    func source(in session: Session) throws -> HelperSource {
        let environment = try token.environment(above: session.environment)
        let agent = try environment.given("agent", nil).map { (socket: $0, serves: ServedAddress?.none) }
        return HelperSource(environment: environment, username: nil, command: token, agent: agent)
    }
}
