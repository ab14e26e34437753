// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import IdentityClient
import Testing

@testable import identityctl

/// Whose token is wanted, as a table of options, variables, lines and an address.
@Suite struct TokenRouteTests {
    /// Profiles by their names, the usual one, and what is known of resources.
    private static let lines = ProfileLines(
        names: { texts.keys.sorted().compactMap { ProfileName($0) } },
        named: { name in try #require(try profile(name.text), "there is no profile \(name)") },
        usual: { try profile("work") },
        serving: { address, username in
            guard ServedAddress("https://git.test")?.serves(address) == true else { return nil }
            return try profile(username == "bob" ? "other" : "git")
        },
        known: { address in
            guard address.hasPrefix("https://api.test/mcp") else { return nil }
            let text = "resource = https://api.test/mcp\nissuer = https://as.test\nclient-id = registered"
            return try Profile(ofResource: Array(text.utf8), path: "known")
        }
    )

    private static let texts = [
        "work": "client-id = work\nissuer = https://id.test",
        "git": "client-id = git\nissuer = https://id.test\nserves = https://git.test",
        "other": "client-id = other\nissuer = https://id.test\nserves = https://git.test\nusername = bob",
        "api": "resource = https://api.test/mcp",
        "mail": "client-id = mail\nresource = https://mail.test\nissuer = https://id.test",
    ]

    private static func profile(_ name: String) throws -> Profile? {
        guard let text = texts[name], let name = ProfileName(name) else { return nil }
        return try Profile(name, path: name.text, parsing: Array(text.utf8))
    }

    /// The profile's name, the client of the lines, the address of a search, and what an agent must serve.
    private struct Answer: Equatable, CustomStringConvertible {
        var profile: String?
        var client: String?
        var search: String?
        var served: String?

        var description: String { [profile, client, search, served].map { $0 ?? "-" }.joined(separator: " ") }
    }

    private static func answer(_ route: TokenRoute?) throws -> Answer? {
        guard let route else { return nil }
        return Answer(
            profile: route.variables.profile?.name.text,
            client: try route.variables.given("client-id", nil)?.text,
            search: route.resource?.text,
            served: route.served?.text
        )
    }

    /// In place of a username: a file of the program's own says which server a client is for.
    private static let file = "a file"

    private static func variables(_ variables: [String: String]) -> Variables {
        Variables(Dictionary(uniqueKeysWithValues: variables.map { (Variables.variable(for: $0.key), $0.value) }))
    }

    @Test(
        arguments: [
            ([], [:], "work work - -"),
            (["--profile", "git"], [:], "git git - -"),
            (["--profile", "none"], [:], "- - - -"),
            ([], ["profile": "git"], "git git - -"),
            (["--profile", "work"], ["profile": "git"], "work work - -"),
            (["--client-id", "mine"], [:], "- - - -"),
            ([], ["client-id": "mine"], "- mine - -"),
            ([], ["issuer": "https://elsewhere.test"], "- - - -"),
            // Another client with a profile's other lines is above its own.
            (["--profile", "git"], ["client-id": "mine"], "git mine - -"),
            (["--resource", "https://api.test/mcp"], [:], "resource of its own registered - -"),
            (["--resource", "https://new.test"], [:], "- - - -"),
            (["--resource", "https://api.test/mcp", "--profile", "api"], [:], "api registered - -"),
            (["--resource", "https://api.test/mcp", "--profile", "work"], [:], "work work - -"),
        ] as [([String], [String: String], String)]
    )
    func isThatOfOptionsThenVariablesThenLines(
        _ options: [String],
        _ variables: [String: String],
        _ wanted: String
    ) throws {
        let route = try TokenRoute(.parse(options), Self.variables(variables), Self.lines)
        #expect(try Self.answer(route)?.description == wanted)
    }

    /// The questions about an address.
    enum Question: Sendable {
        case call, bridge, signIn

        fileprivate func route(
            _ url: String,
            _ options: ProviderOptions,
            _ variables: Variables,
            _ lines: ProfileLines
        ) throws -> TokenRoute? {
            switch self {
            case .call: try TokenRoute.calling(url, options, variables, lines)
            case .bridge: try TokenRoute.bridging(to: url, options, variables, lines)
            case .signIn: try TokenRoute.ofResource(at: url, options, variables, lines)
            }
        }
    }

    @Test(
        arguments: [
            (.call, "https://other.test/x", [], [:], "work work - -"),
            (
                .call, "https://api.test/mcp/tools", [], [:],
                "resource of its own registered https://api.test/mcp/tools -"
            ),
            (.call, "https://api.test/mcp", ["--profile", "work"], [:], "work work - -"),
            (.call, "https://api.test/mcp", ["--profile", "none"], [:], "- - https://api.test/mcp -"),
            (.call, "https://api.test/mcp", ["--client-id", "mine"], [:], "- - - -"),
            (.call, "https://x.test/y", ["--resource", "https://x.test"], [:], "- - https://x.test -"),
            // An agent has the sign-ins.
            (.call, "https://api.test/mcp", [], ["agent": "/run/agent"], "- - - -"),
            (.call, "https://api.test/mcp", ["--profile", "none"], ["agent": "/run/agent"], "- - - -"),
            (.bridge, "https://api.test/mcp", [], [:], "resource of its own registered - -"),
            (.bridge, "https://git.test/mcp", [], [:], "git git - -"),
            // The usual profile is none for an address that it does not serve.
            (.bridge, "https://new.test/mcp", [], [:], "- - - -"),
            (.bridge, "https://git.test/mcp", ["--profile", "git"], [:], "git git - -"),
            (.bridge, "https://new.test/mcp", ["--profile", "none"], [:], "- - - -"),
            (.bridge, "https://mail.test/mcp", [], ["profile": "mail"], "mail mail - -"),
            (.bridge, "https://git.test/mcp", [], ["agent": "/run/agent"], "- - - https://git.test/mcp"),
            (.signIn, "https://api.test/mcp", [], [:], "resource of its own registered - -"),
            (.signIn, "https://new.test", [], [:], nil),
            (.signIn, "https://mail.test/x", ["--profile", "mail"], [:], "mail mail - -"),
            (.signIn, "https://api.test/mcp", ["--profile", "mail"], [:], nil),
            (.signIn, "https://api.test/mcp", [], ["profile": "mail"], "resource of its own registered - -"),
            (.signIn, "https://api.test/mcp", [], ["client-id": "mine"], "resource of its own registered - -"),
            (.signIn, "https://api.test/mcp", [], ["agent": "/run/agent"], nil),
        ] as [(Question, String, [String], [String: String], String?)]
    )
    func ofAnAddressIsWhatIsKnownThere(
        _ question: Question,
        _ url: String,
        _ options: [String],
        _ variables: [String: String],
        _ wanted: String?
    ) throws {
        let route = try question.route(url, .parse(options), Self.variables(variables), Self.lines)
        #expect(try Self.answer(route)?.description == wanted)
    }

    @Test(arguments: [(["--profile", "work"], [:]), ([], ["profile": "git"])] as [([String], [String: String])])
    func ofABridgeIsNoProfileThatServesAnotherAddress(_ options: [String], _ variables: [String: String]) {
        let error = #expect(throws: UsageError.self) {
            try TokenRoute.bridging(
                to: "https://new.test/mcp",
                .parse(options),
                Self.variables(variables),
                Self.lines
            )
        }
        #expect(error?.message.contains("does not serve https://new.test/mcp") == true)
    }

    @Test(
        arguments: [
            ("https://git.test", nil, [], [:], "git git - -"),
            ("https://git.test", "bob", [], [:], "other other - -"),
            ("https://new.test", nil, [], [:], nil),
            (nil, nil, [], [:], nil),
            ("https://git.test", nil, ["--profile", "git"], [:], "git git - -"),
            ("https://new.test", nil, ["--profile", "git"], [:], nil),
            ("https://git.test", nil, ["--profile", "work"], [:], nil),
            ("https://git.test", nil, ["--client-id", "mine"], ["serves": "https://git.test"], "- - - -"),
            ("https://git.test", nil, ["--client-id", "mine"], [:], nil),
            // A client of variables alone is passed over, with these.
            ("https://git.test", nil, [], ["client-id": "mine"], "git git - -"),
            ("https://git.test", nil, [], ["client-id": "mine", "serves": "https://git.test"], "- mine - -"),
            ("https://git.test", nil, [], ["agent": "/run/agent"], "- - - https://git.test"),
            (nil, nil, [], ["agent": "/run/agent"], nil),
            ("https://git.test", nil, ["--profile", "p"], ["agent": "/run/agent"], "- - - https://git.test"),
            ("https://new.test", nil, [], ["agent": "/a", "profile": "p", "serves": "https://git.test"], nil),
            // A profile of this computer does not stand in for an agent's.
            ("https://git.test", nil, [], ["agent": "/a", "profile": "p", "serves": "https://new.test"], nil),
            // A file of the program's own names the profile.
            (nil, file, [], [:], "work work - -"),
            ("https://new.test", file, ["--profile", "git"], [:], "git git - -"),
            ("https://new.test", file, [], ["profile": "git"], nil),
            ("https://git.test", file, [], [:], "git git - -"),
            (nil, file, [], ["agent": "/run/agent"], "- - - -"),
        ] as [(String?, String?, [String], [String: String], String?)]
    )
    func ofAHelperServesTheAddress(
        _ address: String?,
        _ username: String?,
        _ options: [String],
        _ variables: [String: String],
        _ wanted: String?
    ) throws {
        let isChosen = username == Self.file
        let asked = TokenRoute.Asked(
            address: address.flatMap { ServedAddress($0) },
            username: isChosen ? nil : username,
            isChosenByItsFile: isChosen
        )
        let route = try TokenRoute.serving(asked, .parse(options), Self.variables(variables), Self.lines)
        #expect(try Self.answer(route)?.description == wanted)
    }

    @Test(
        arguments: [
            // The name in the address, and the line: the username that goes with the token, and the person.
            (nil, nil, nil, nil), ("oauth2", nil, nil, nil), ("x-access-token", nil, nil, nil),
            ("carol", nil, nil, "carol"), ("bob", "bob", "bob", nil), ("carol", "oauth2", "oauth2", "carol"),
        ] as [(String?, String?, String?, String?)]
    )
    func tellsAPersonFromAUsernameOfTheServer(_ name: String?, _ own: String?, _ username: String?, _ person: String?)
        throws
    {
        let address = ServedAddress("https://git.test")
        var asked = TokenRoute.Asked(address: address, username: name, ownUsername: own)
        let route = try #require(
            try TokenRoute.serving(asked, .parse(["--profile", "git"]), Variables([:]), Self.lines)
        )
        #expect(route.username == username && route.person == person)
        asked.ownUsername = "a\u{7}b"
        #expect(throws: UsageError.self) {
            try TokenRoute.serving(asked, .parse(["--profile", "git"]), Variables([:]), Self.lines)
        }
    }

    @Test(
        arguments: [
            // The profile, the provider and the client of the request.
            (nil, nil, nil, nil, "work work - -"), ("git", nil, nil, nil, "git git - -"),
            ("git", "https://id.test/", "git", nil, "git git - -"), (nil, nil, "mail", nil, "mail mail - -"),
            (nil, "https://id.test/", "other", nil, "other other - -"),
            // Several fit: the usual one is among them.
            (nil, "https://id.test", nil, nil, "work work - -"),
            // The address of the request.
            (nil, nil, nil, "https://git.test/x", "git git - -"),
            ("other", nil, nil, "https://git.test/x", "other other - -"),
            (nil, nil, "other", "https://git.test", "other other - -"),
        ] as [(String?, String?, String?, String?, String)]
    )
    func ofAnAgentIsThatOfTheProfileThatARequestNames(
        _ profile: String?,
        _ issuer: String?,
        _ client: String?,
        _ address: String?,
        _ wanted: String
    ) throws {
        let request = AgentRequest.Token(profile: profile, serves: address, issuer: issuer, clientID: client)
        let route = try TokenRoute.answering(request, only: nil, .parse([]), Variables([:]), Self.lines)
        #expect(try Self.answer(route)?.description == wanted)
    }

    @Test func ofAnAgentIsThatOfThePersonInAnAddress() throws {
        let request = AgentRequest.Token(serves: "https://git.test", username: "bob")
        let route = try TokenRoute.answering(request, only: nil, .parse([]), Variables([:]), Self.lines)
        #expect(try Self.answer(route)?.profile == "other")
    }

    @Test(
        arguments: [
            ("nobody", nil, nil, "account not loaded: the agent does not have a profile 'nobody'."),
            (nil, "nobody", nil, "account not loaded: the agent does not have a profile for that client or provider."),
            ("git", "work", nil, "The profile 'git' is for another client or provider than requested."),
            (nil, nil, "https://new.test", "No profile of the agent serves https://new.test."),
            (nil, nil, "git.test", "No profile of the agent serves git.test."),
            ("work", nil, "https://git.test", "No profile of the agent serves https://git.test."),
        ] as [(String?, String?, String?, String)]
    )
    func ofAnAgentIsNoneThatTheRequestDoesNotMean(
        _ profile: String?,
        _ client: String?,
        _ address: String?,
        _ message: String
    ) throws {
        let request = AgentRequest.Token(profile: profile, serves: address, clientID: client)
        let error = #expect(throws: (any Error).self) {
            try TokenRoute.answering(request, only: nil, .parse([]), Variables([:]), Self.lines)
        }
        #expect(error.map(JSONReport.message(of:)) == message)
        #expect((error as? AuthenticationError)?.code == (address == nil ? nil : AuthenticationError.Code.notServed))
    }

    @Test func ofAnAgentIsItsOwnClientAlone() throws {
        func route(_ request: AgentRequest.Token) throws -> TokenRoute {
            let variables = Self.variables(["serves": "https://git.test"])
            return try .answering(request, only: "mine", .parse(["--client-id", "mine"]), variables, Self.lines)
        }
        #expect(try Self.answer(route(AgentRequest.Token()))?.description == "- - - -")
        #expect(try Self.answer(route(AgentRequest.Token(serves: "https://git.test/x")))?.description == "- - - -")
        _ = try route(AgentRequest.Token(profile: "mine", serves: "https://git.test", clientID: "mine"))
        #expect(throws: UsageError.self) { try route(AgentRequest.Token(profile: "work")) }
        #expect(throws: UsageError.self) { try route(AgentRequest.Token(clientID: "work")) }
        let error = #expect(throws: AuthenticationError.self) {
            try route(AgentRequest.Token(serves: "https://b.test"))
        }
        #expect(error?.code == .notServed)
    }

    @Test func readsNoMoreLinesThanItNeeds() throws {
        let none = ProfileLines(
            names: { throw UsageError("the names were read") },
            named: { _ in throw UsageError("a profile was read") },
            usual: { throw UsageError("the usual profile was read") },
            serving: { _, _ in throw UsageError("all profiles were read") },
            known: { _ in throw UsageError("a resource was read") }
        )
        let agent = Self.variables(["agent": "/run/agent"])
        _ = try TokenRoute(.parse(["--client-id", "mine"]), Variables([:]), none)
        _ = try TokenRoute.calling("https://api.test/mcp", .parse([]), agent, none)
        _ = try TokenRoute.bridging(to: "https://api.test/mcp", .parse([]), agent, none)
        let asked = TokenRoute.Asked(address: ServedAddress("https://git.test"))
        #expect(try TokenRoute.serving(asked, .parse([]), agent, none)?.agent?.text == "/run/agent")
        _ = try TokenRoute.answering(AgentRequest.Token(), only: "mine", .parse([]), Variables([:]), none)
    }

    /// The lines of the forwarder stand in its profile; the token is that of the profile, or of an agent that serves the address.
    @Test(
        arguments: [
            ([:], "git git - -"), (["scope": "a"], "git git - -"),
            (["client-id": "mine", "issuer": "https://other.test"], "git git - -"),
            (["agent": "/run/agent"], "- - - https://git.test"),
        ] as [([String: String], String)]
    )
    func ofAForwarderIsThatOfItsProfile(_ variables: [String: String], _ wanted: String) throws {
        let profile = try #require(try Self.profile("git"))
        let address = try #require(ServedAddress("https://git.test"))
        let route = TokenRoute.forwarding(to: address, profile, try .ungiven, Self.variables(variables))
        #expect(try Self.answer(route)?.description == wanted)
    }
}
