// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import OAuthWire

/// The answer to *whose* token: the lines that count below the options and the variables.
///
/// Commands, helpers, the bridge and the agent ask here, and nowhere else. Each answer is a function of the options, the variables, the lines
/// and an address. Options stand above variables, and these above lines. If an agent is named, it has the sign-ins: then no line
/// of this computer counts.
struct TokenRoute: Sendable {
    /// The variables above the lines that count.
    var variables: Variables
    /// The address at which the search for a server begins; `nil` if the lines and options are enough, or if an agent knows.
    var resource: Given?
    /// The address that the profile of an agent must serve; `nil` if the request names the profile.
    var served: ServedAddress?
    /// The username that goes with the token, if an option or a line names one.
    var username: String?
    /// The name of the person in the address that a program asks for. The token of another account is none.
    var person: String?

    /// The agent that has the sign-ins; `nil` if they are on this computer.
    var agent: Given? { variables.agent }

    init(variables: Variables) { self.variables = variables }
}

// A command that names no address.
extension TokenRoute {
    /// The route of the client that options, variables or a profile name.
    ///
    /// The profile is that of `--profile` or its variable, or else the default or the only one, unless the command line or a variable
    /// names a client or a provider: its lines would belong to another one. Of a resource that is named, what is known counts
    /// as well.
    ///
    /// - Throws: `UsageError` if the profile does not exist or cannot be used.
    init(_ options: ProviderOptions, _ variables: Variables, _ lines: ProfileLines) throws {
        self.init(variables: variables.above(try Self.profile(options, variables, lines)))
    }

    private static func profile(
        _ options: ProviderOptions,
        _ variables: Variables,
        _ lines: ProfileLines
    ) throws -> Profile? {
        guard let resource = try variables.given("resource", options.resource),
            try variables.given("issuer", options.issuer) == nil
        else { return try namedOrUsual(options, variables, lines) }
        let isNamed = try variables.given("profile", options.profile) != nil
        var profile = isNamed ? try namedOrUsual(options, variables, lines) : nil
        if let named = profile, named.own("resource") != resource.text {
            profile = named.forAnother()
        } else if profile?.leavesToSearch == false {
            return profile
        }
        guard let known = try lines.known(resource.text) else { return profile }
        return profile?.below(known) ?? known
    }

    private static func namedOrUsual(
        _ options: ProviderOptions,
        _ variables: Variables,
        _ lines: ProfileLines
    ) throws -> Profile? {
        if let given = try variables.given("profile", options.profile) {
            guard given.text != ProfileName.none else { return nil }
            let profile = try lines.named(try ProfileName(given))
            return options.namesOne(variables) ? profile.forAnother() : profile
        }
        return options.namesOne(variables) ? nil : try lines.usual()
    }
}

// An address that a person or a program names.
extension TokenRoute {
    /// The route of a call. A sign-in for the address is nearer than the profile that is usual.
    ///
    /// - Throws: `UsageError`.
    static func calling(
        _ url: String,
        _ options: ProviderOptions,
        _ variables: Variables,
        _ lines: ProfileLines
    ) throws -> TokenRoute {
        guard variables.agent == nil else { return TokenRoute(variables: variables) }
        var route = try TokenRoute(options, variables, lines)
        let profile = try variables.given("profile", options.profile)
        let isNamed =
            try profile != nil || options.namesOne(variables) || variables.given("resource", options.resource) != nil
        if !isNamed, let known = try lines.known(url) { route.variables = variables.above(known) }
        if isNamed, profile?.text != ProfileName.none {
            route.resource = try options.searchedResource(route.variables)
        } else if route.variables.profile?.isOfResource ?? true {
            route.resource = Given(text: url, origin: Given.calledAddress)
        }
        return route
    }

    /// The route of a bridge to a server. The file of a project can name any address and any profile, so that a profile must say
    /// itself that it serves the address.
    ///
    /// - Returns: Without lines, if no account is signed in for the address.
    /// - Throws: `UsageError`.
    static func bridging(
        to url: String,
        _ options: ProviderOptions,
        _ variables: Variables,
        _ lines: ProfileLines
    ) throws -> TokenRoute {
        var route = TokenRoute(variables: variables)
        let address = ServedAddress(asked: url)
        guard route.agent == nil else {
            route.served = address
            return route
        }
        if let given = try variables.given("profile", options.profile), given.text != ProfileName.none {
            route = try TokenRoute(options, variables, lines)
            guard let profile = route.variables.profile, try TokenReach(of: profile).includes(url) else {
                throw given.error(
                    "the profile does not serve \(url.printable). If it may have the token, add a line: serves = ADDRESS"
                )
            }
            return route
        }
        let profile = try lines.known(url) ?? address.flatMap { try lines.serving($0, nil) }
        route.variables = variables.above(profile)
        return route
    }

    /// The question of a helper.
    struct Asked {
        /// The address of the program's request, if it names one.
        var address: ServedAddress?
        /// The username of the request. That of a person chooses the profile and the account.
        var username: String?
        /// The option `--serves`.
        var serves: String?
        /// The option `--username`.
        var ownUsername: String?
        /// Whether a file of the program's own, kubeconfig for example, says which server a client is for. Then neither
        /// `--serves` nor, for a client that only variables name, a line of the profile has to.
        var isChosenByItsFile = false
    }

    /// The route of a helper; `nil` if nothing serves the address.
    ///
    /// A client that an option, a variable or `--profile` names counts, if it serves the address. If only variables name one that
    /// does not, the profile that serves the address counts, without these variables. An agent decides by its own profiles.
    ///
    /// - Throws: `UsageError`.
    static func serving(
        _ asked: Asked,
        _ options: ProviderOptions,
        _ variables: Variables,
        _ lines: ProfileLines
    ) throws -> TokenRoute? {
        let person = asked.username.flatMap { TokenUsername.isOfPerson($0) ? $0 : nil }
        guard var route = try choice(asked, person, options, variables, lines) else { return nil }
        route.username = try route.variables.given("username", asked.ownUsername)?.text
        guard route.username?.utf8.hasControls != true else {
            throw UsageError("--username: control characters are not possible.")
        }
        route.person = route.username == nil || route.username != asked.username ? person : nil
        return route
    }

    private static func choice(
        _ asked: Asked,
        _ person: String?,
        _ options: ProviderOptions,
        _ variables: Variables,
        _ lines: ProfileLines
    ) throws -> TokenRoute? {
        var elsewhere = TokenRoute(variables: variables)
        elsewhere.served = asked.address
        let hasAgent = variables.agent != nil
        let isOption = options.namesOne(Variables([:])) || options.profile != nil
        let isNamed = try isOption || options.namesOne(variables) || variables.given("profile", nil) != nil
        if isNamed || (asked.isChosenByItsFile && asked.address == nil) {
            let named = hasAgent ? TokenRoute(variables: variables) : try TokenRoute(options, variables, lines)
            let served = try named.variables.words("serves", asked.serves.map { [$0] } ?? [])
                .map(ServedAddress.init(option:))
            if served.isEmpty, hasAgent, !asked.isChosenByItsFile { return asked.address == nil ? nil : elsewhere }
            let isAsNamed = asked.isChosenByItsFile && (served.isEmpty || isOption && asked.serves == nil)
            if isAsNamed || served.contains(where: { $0.serves(asked.address) }) { return named }
            if isOption || asked.serves != nil || hasAgent { return nil }
        } else if hasAgent {
            return asked.address == nil ? nil : elsewhere
        }
        guard let address = asked.address, let profile = try lines.serving(address, person) else { return nil }
        // Variables that name another client belong to that one.
        return TokenRoute(variables: (isNamed ? variables.withoutOptions : variables).above(profile))
    }

    /// The route of a forwarder, whose lines stand in a profile of this computer.
    ///
    /// - Parameter address: That of the server, which a profile of the agent must serve if one is named.
    static func forwarding(
        to address: ServedAddress,
        _ profile: Profile,
        _ options: ProviderOptions,
        _ variables: Variables
    ) -> TokenRoute {
        var route = TokenRoute(variables: variables)
        guard route.agent == nil else {
            route.served = address
            return route
        }
        // Variables that name another client belong to that one.
        route.variables = (options.namesOne(variables) ? variables.withoutOptions : variables).above(profile)
        return route
    }

    /// The route of the sign-in for an address; `nil` without one, and with an agent. A profile that is named counts, if its
    /// resource is there.
    ///
    /// - Throws: `UsageError`.
    static func ofResource(
        at url: String,
        _ options: ProviderOptions,
        _ variables: Variables,
        _ lines: ProfileLines
    ) throws -> TokenRoute? {
        guard variables.agent == nil else { return nil }
        // Variables that name another client belong to that one.
        let variables = options.namesOne(variables) ? variables.withoutOptions : variables
        let given = try variables.given("profile", options.profile).flatMap { $0.text == ProfileName.none ? nil : $0 }
        let named = try given.flatMap { _ in try TokenRoute(options, variables, lines).variables.profile }
        if let named, try TokenReach(of: named).includes(url) { return TokenRoute(variables: variables.above(named)) }
        // A variable may name a profile for other addresses.
        guard given?.isOption != true, let known = try lines.known(url) else { return nil }
        return TokenRoute(variables: variables.above(known))
    }
}

// A program's request to the agent of this computer, which has the sign-ins.
extension TokenRoute {
    /// The route of the profile that a request names, or of the one that fits its provider and client, or of the one that serves its
    /// address, or else of the default one.
    ///
    /// - Parameter own: The name of the only client, if the agent's own options or variables name one: then no profile counts.
    /// - Throws: `AuthenticationError` with the code `notServed` for an address that no profile serves, or not the one that the
    ///   request names; `UsageError`.
    static func answering(
        _ request: AgentRequest.Token,
        only own: String?,
        _ options: ProviderOptions,
        _ variables: Variables,
        _ lines: ProfileLines
    ) throws -> TokenRoute {
        guard let text = request.serves else { return try chosen(by: request, own, options, variables, lines) }
        guard let address = ServedAddress(text) else { throw notServed(text) }
        if own == nil, request.profile == nil, request.issuer == nil, request.clientID == nil {
            guard let profile = try lines.serving(address, request.username) else { throw notServed(text) }
            return TokenRoute(variables: variables.above(profile))
        }
        let route = try chosen(by: request, own, options, variables, lines)
        let served = try route.variables.words("serves", [])
        guard served.contains(where: { ServedAddress($0)?.serves(address) == true }) else { throw notServed(text) }
        return route
    }

    private static func chosen(
        by request: AgentRequest.Token,
        _ own: String?,
        _ options: ProviderOptions,
        _ variables: Variables,
        _ lines: ProfileLines
    ) throws -> TokenRoute {
        let names = try own.map { [$0] } ?? lines.names().map(\.text)
        func route(of name: String) throws -> TokenRoute {
            guard own == nil, let name = ProfileName(name) else { return TokenRoute(variables: variables) }
            return TokenRoute(variables: variables.above(try lines.named(name)))
        }
        if let name = request.profile {
            guard names.contains(name) else { throw notFound("a profile '\(name.printable)'") }
            let named = try route(of: name)
            guard try named.fits(request, options) else {
                throw UsageError("The profile '\(name.printable)' is for another client or provider than requested.")
            }
            return named
        }
        func usual() throws -> String? { try own ?? lines.usual()?.name.text }
        guard request.issuer != nil || request.clientID != nil else {
            if let name = try usual() { return try route(of: name) }
            throw UsageError("Which profile? The agent has: \(list(names)).")
        }
        // A profile that cannot be read is not the one that is asked for.
        let fitting = names.filter { (try? route(of: $0).fits(request, options)) == true }
        guard let first = fitting.first else { throw notFound("a profile for that client or provider") }
        if fitting.count == 1 { return try route(of: first) }
        if let name = try usual(), fitting.contains(name) { return try route(of: name) }
        throw UsageError("Several profiles fit: \(list(fitting)). Name one.")
    }

    /// Whether the client and the provider are those that a request names.
    private func fits(_ request: AgentRequest.Token, _ options: ProviderOptions) throws -> Bool {
        func plain(_ url: String) -> Substring { url.hasSuffix("/") ? url.dropLast() : url[...] }
        if let wanted = request.clientID, try variables.given("client-id", options.clientID)?.text != wanted {
            return false
        }
        guard let wanted = request.issuer else { return true }
        let issuer = try variables.given("issuer", options.issuer)
        let authority = try variables.given("authority", options.authority)
        return [issuer, authority].compactMap { $0?.text }.contains { plain($0) == plain(wanted) }
    }

    private static func notServed(_ address: String) -> AuthenticationError {
        AuthenticationError(.notServed, "No profile of the agent serves \(address.printable).")
    }

    /// Clients of oidc-agent look for its words.
    private static func notFound(_ what: String) -> UsageError {
        UsageError("account not loaded: the agent does not have \(what).")
    }

    private static func list(_ names: [String]) -> String {
        names.isEmpty ? "none" : names.prefix(20).map(\.printable).joined(separator: ", ")
    }
}

/// The username beside a token.
enum TokenUsername {
    /// The one that most servers accept.
    static let any = "oauth2"

    /// Whether a username in an address is that of a person, and none that servers want where a token is the password.
    static func isOfPerson(_ name: String) -> Bool {
        let others = ["oauth2accesstoken", "x-access-token", "x-token-auth", "VssSessionToken", "__token__"]
        return name != any && !others.contains(name)
    }
}

/// The lines that can stand below options and variables: those of profiles, and of known resources.
struct ProfileLines: Sendable {
    /// Returns the names of all profiles.
    let names: @Sendable () throws -> [ProfileName]
    /// Returns the profile with a name.
    let named: @Sendable (ProfileName) throws -> Profile
    /// Returns the default profile, or else the only one.
    let usual: @Sendable () throws -> Profile?
    /// Returns the profile that serves an address, for a username if it names one.
    let serving: @Sendable (ServedAddress, _ username: String?) throws -> Profile?
    /// Returns what is known of the resource at an address.
    let known: @Sendable (_ address: String) throws -> Profile?
}

extension ProfileLines {
    /// The lines on this computer, of which only those are read that are asked for.
    ///
    /// - Parameter warn: Called with the reason why a profile that could serve an address does not count.
    static func onDisk(_ variables: Variables, warn: @escaping @Sendable (String) -> Void = { _ in }) -> ProfileLines {
        ProfileLines(
            names: { try ProfileDirectory(variables).names() },
            named: { try ProfileDirectory(variables).profile(named: $0) },
            usual: {
                // Without a home directory there is none.
                guard let directory = try? ProfileDirectory(variables) else { return nil }
                return try directory.usualName().map(directory.profile(named:))
            },
            serving: { address, username in
                let directory: ProfileDirectory
                do {
                    directory = try ProfileDirectory(variables)
                } catch {
                    warn("No profile gives a token for \(address.text). \(error)")
                    return nil
                }
                return try directory.profile(serving: address, for: username) { warn("Warning: \($0)") }
            },
            known: { try KnownResources(variables).profile(for: $0) }
        )
    }
}
