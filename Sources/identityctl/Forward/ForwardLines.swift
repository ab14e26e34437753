// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import OAuthWire
import SystemSupport
import TokenForwarding

/// The lines of a profile about its forwarder: where requests go with the token, and which.
struct ForwardLines: Hashable, Sendable {
    let name: ProfileName
    /// The address of the server, below which all requests are.
    let address: WebAddress
    /// The same as programs' requests for tokens name it.
    let served: ServedAddress
    /// The port of the line; `nil` without it.
    let port: UInt16?
    /// How long a request waits for the sign-in that it began.
    let wait: Duration
    /// The line `forward-access`; `nil` without it.
    let access: ForwardingRoute.Access?
    /// All that a forwarder is started with.
    private let lines: [String]

    /// - Returns: `nil` for a profile without the line `forward`. Its other lines are checked all the same.
    /// - Throws: `UsageError` that names the file and the line.
    init?(_ profile: Profile) throws {
        port = try profile.given("forward-port").map(Self.port)
        wait = try profile.given("forward-wait").map(Self.wait) ?? .seconds(50)
        lines = profile.lines.filter { $0.name.hasPrefix("forward") || ["proxy", "ca-file"].contains($0.name) }
            .map { "\($0.name)=\($0.value)" }
        access = try Self.access(profile)
        _ = try (Self.permissions(profile), Self.field(profile), Self.statuses(profile))
        guard let forward = profile.given("forward") else { return nil }
        // The name 'localhost' could be another computer's.
        guard let address = WebAddress(forward.text), address.scheme == "https" || address.host != "localhost",
            let served = ServedAddress(forward.text)
        else {
            throw forward.error("give an https address, such as https://api.example.com/v1; http only at 127.0.0.1.")
        }
        guard try TokenReach(of: profile).includes(address.text) else {
            throw forward.error(
                "the profile does not serve this address. If it may have the token, run: identityctl profile set \(profile.name) "
                    + "serves+=\(address.text.shellWord)"
            )
        }
        guard try AgentConfirmation(profile.given("agent-confirm")) == .never else {
            throw forward.error("the forwarder cannot ask you, as the line 'agent-confirm' wants. Remove one of both.")
        }
        let scheme = try SchemeOption.chosen(profile.given("scheme"))
        guard scheme != .pop, profile.given("dpop")?.text != "required" else {
            throw forward.error(
                "the forwarder passes no tokens that are bound to a key, as the lines 'dpop' and 'scheme' want them."
            )
        }
        (name, self.address, self.served) = (profile.name, address, served)
    }

    /// The path of the address, without a slash at its end.
    var path: String { address.path.hasSuffix("/") ? String(address.path.dropLast()) : address.path }

    /// Returns what the engine is told.
    ///
    /// - Parameter isSocket: Whether programs connect to a socket, to which this user alone has the way.
    /// - Throws: `UsageError` for a path that could be two files.
    func route(_ profile: Profile, phantom: String, isSocket: Bool, _ variables: Variables) throws -> ForwardingRoute {
        let lines = variables.above(profile)
        var route = ForwardingRoute(
            name: name.text,
            scheme: address.scheme,
            authority: address.environment,
            path: address.path,
            phantom: phantom,
            access: access ?? (isSocket ? .user : .both)
        )
        route.allowed = try Self.permissions(profile)
        route.tokenField = try Self.field(profile)
        route.renewsOn = try Self.statuses(profile)
        route.passesCookies = try lines.isOn("forward-cookies", false)
        route.proxy = try lines.given("proxy", nil).map { $0.text == "none" ? "" : $0.text }
        route.certificateAuthorities = try lines.given("ca-file", nil).map(lines.path(of:))
        return route
    }
}

// The lines one by one.
extension ForwardLines {
    private static func port(_ given: Given) throws -> UInt16 {
        guard let port = UInt16(given.text), port > 0 else {
            throw given.error("'\(given.text.printable)' is no port: a number from 1 to 65535.")
        }
        return port
    }

    private static func wait(_ given: Given) throws -> Duration {
        guard let time = given.time else {
            throw given.error("'\(given.text.printable)' is no time such as 50s or 2m.")
        }
        return time
    }

    private static func access(_ profile: Profile) throws -> ForwardingRoute.Access? {
        guard let given = profile.given("forward-access") else { return nil }
        switch given.text {
        case "phantom": return .phantom
        case "user": return .user
        case "both": return .both
        default: throw given.error("'\(given.text.printable)' is none of phantom, user, both.")
        }
    }

    private static func permissions(_ profile: Profile) throws -> [ForwardingRoute.Permission] {
        try profile.each("forward-allow").map { given in
            let words = given.words
            let methods = words.first?.split(separator: ",", omittingEmptySubsequences: false).map(String.init) ?? []
            let areNames = methods.allSatisfy { name in
                !name.isEmpty && name.utf8.allSatisfy { (0x41...0x5A).contains($0) }
            }
            guard words.count == 2, areNames,
                words[1].hasPrefix("/"), !words[1].utf8.contains(where: "%?#\\".utf8.contains),
                !PercentEncoding.isDoubtfulPath(words[1])
            else { throw given.error("give methods and the beginning of a path, such as: GET,HEAD /v1/models") }
            return ForwardingRoute.Permission(methods: Set(methods), path: words[1])
        }
    }

    private static func field(_ profile: Profile) throws -> ForwardingRoute.TokenField {
        guard let given = profile.given("forward-header") else { return ForwardingRoute.TokenField() }
        let parts = given.text.split(separator: ":", maxSplits: 1).map(String.init)
        let value = parts.count == 2 ? String(parts[1].drop { $0 == " " }) : ""
        let mark = "{token}"
        guard let place = value.firstRange(of: mark), parts[0].utf8.areAlphanumeric(or: "-"),
            value.utf8.arePrintable
        else { throw given.error("give a field and its value with {token}, such as: x-api-key: {token}") }
        return ForwardingRoute.TokenField(
            name: parts[0],
            before: String(value[..<place.lowerBound]),
            after: String(value[place.upperBound...])
        )
    }

    private static func statuses(_ profile: Profile) throws -> Set<Int> {
        guard let given = profile.given("forward-renew-on") else { return [401] }
        let numbers = given.text.split(separator: ",", omittingEmptySubsequences: false).map { Int($0) }
        guard numbers.allSatisfy({ (400..<500).contains($0 ?? 0) }) else {
            throw given.error("give statuses from 400 to 499, such as 401,403.")
        }
        return Set(numbers.compactMap(\.self))
    }
}
