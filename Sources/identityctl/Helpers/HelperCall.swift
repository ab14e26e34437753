// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

/// The options and the operation of a call.
struct HelperCall {
    let operation: String
    /// The values of the options that only this helper has; empty for those without a value.
    let own: [String: String]
    private let isChosenByItsFile: Bool
    private let token: TokenCommand

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
            throw UsageError(
                "This helper takes \(own)the options of 'token' that have a value, with full names, before the operation or the address."
            )
        }
        self.token = token
        self.own = own
    }

    /// Returns what gives the token for an address; `nil` if nothing serves it.
    ///
    /// - Parameter username: The name in the address.
    func source(for address: ServedAddress?, of username: String? = nil, in session: Session) throws -> HelperSource? {
        let asked = TokenRoute.Asked(
            address: address,
            username: username,
            serves: own["--serves"],
            ownUsername: own["--username"],
            isChosenByItsFile: isChosenByItsFile
        )
        return try TokenRoute.serving(asked, token.provider, session.environment.above(nil), session.lines)
            .map { HelperSource(route: $0, command: token) }
    }

    /// Returns what gives the token for an address by the sign-in for it; `nil` without one, and with an agent.
    func source(ofResource address: String, in session: Session) throws -> HelperSource? {
        try TokenRoute.ofResource(at: address, token.provider, session.environment.above(nil), session.lines)
            .map { HelperSource(route: $0, command: token) }
    }

    /// Returns what gives the token for a program that names no address: the client that an option, a variable, or
    /// `--profile` names, or else the default profile.
    func source(in session: Session) throws -> HelperSource {
        HelperSource(route: try token.route(session.environment, session.lines), command: token)
    }
}
