// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import IdentityClient
import Logging
import LoopbackHTTP
import OAuthWire
import Synchronization
import SystemSupport
import TokenForwarding

/// The routes of a forwarder that runs, and the answers to the commands about it.
final class ForwardHost: Sendable {
    fileprivate struct Route: Sendable {
        let lines: ForwardLines
        let sockets: Sockets
        let forwarders: [Forwarder]
        let tokens: ForwardTokens
    }

    private let directory: ProfileDirectory
    private let variables: Variables
    private let console: Console
    private let logger: Logger
    private let level: Logger.Level
    private let routes = Mutex<[Route]>([])
    private let refusing = Mutex<[Forwarder]>([])
    /// Settled when a person ends the forwarder.
    let stopped = Promise<Void>()

    /// - Parameter level: That of the log of requests and of the library.
    init(_ directory: ProfileDirectory, in session: Session, level: Logger.Level) {
        self.directory = directory
        (variables, console, logger) = (session.environment.above(nil), session.console, session.logger)
        self.level = level
    }

    /// Begins to take clients for a profile.
    ///
    /// - Throws: `SystemFailure` without threads or descriptors; `UsageError`.
    func start(_ profile: Profile, _ lines: ForwardLines, phantom: String, at sockets: Sockets) throws {
        let tokens = ForwardTokens(lines, variables, console, level)
        let login = tokens.login
        let desk = ForwardDesk(
            wait: lines.wait,
            explain: { ForwardingProblem($0, signingInBy: login) },
            tokens.token
        )
        var forwarders: [Forwarder] = []
        do {
            for (place, listeners) in sockets.places {
                let route = try lines.route(profile, phantom: phantom, isSocket: place == .socket, variables)
                let note: @Sendable (ForwardedExchange) -> Void = { [logger] in logger.note($0) }
                forwarders.append(
                    try Forwarder(route, at: place, listeners: listeners, desk: desk, note: note)
                )
            }
        } catch {
            for forwarder in forwarders { forwarder.stop(leavesSockets: true) }
            throw error
        }
        let route = Route(lines: lines, sockets: sockets, forwarders: forwarders, tokens: tokens)
        routes.withLock { $0.append(route) }
    }

    /// Answers with the reason at sockets of systemd for which there is no route: programs would wait in vain.
    func refuse(_ reason: String, at sockets: Sockets, of name: String) throws {
        let route = ForwardingRoute(name: name, authority: "localhost", phantom: "", access: .user)
        for (place, listeners) in sockets.places {
            let refusal = Refusal(problem: ForwardingProblem(.refusedByPolicy, reason))
            let forwarder = try Forwarder(route, at: place, listeners: listeners, desk: refusal)
            refusing.withLock { $0.append(forwarder) }
        }
    }

    /// A desk without tokens.
    private struct Refusal: TokenDesk {
        let problem: ForwardingProblem

        func token(for wish: TokenWish) throws(ForwardingProblem) -> String { throw problem }
    }

    /// Ends all connections, and removes the sockets.
    func finish() async {
        let routes = routes.withLock { routes in
            defer { routes = [] }
            return routes
        }
        for forwarder in refusing.withLock(\.self) { forwarder.stop(leavesSockets: true) }
        for route in routes {
            for forwarder in route.forwarders { forwarder.stop(leavesSockets: route.sockets.areSystemds) }
            route.sockets.remove()
        }
        for route in routes { await route.tokens.finish() }
    }

    /// Waits until no route has had a client for so long.
    func waitUntilIdle(for time: Duration) async throws {
        while true {
            let quiet = routes.withLock { $0.flatMap(\.forwarders).map(\.idleSince) }
            let last: ContinuousClock.Instant = quiet.contains(nil) ? .now : quiet.compactMap(\.self).max() ?? .now
            guard last + time > .now else { return }
            try await Task.sleep(until: last + time, clock: .continuous)
        }
    }

    /// Returns the answer to a request of a command.
    func answer(_ bytes: [UInt8]) async -> [UInt8] {
        let answer: JSONObject
        do {
            let request = try JSONObject(parsing: bytes, maximumDepth: 2)
            answer = AgentAnswer.success(try await members(for: request))
        } catch {
            answer = AgentAnswer.failure(error)
        }
        return answer.serialized() + [0x0A]
    }

    private func members(for request: JSONObject) async throws -> [(name: String, value: JSONValue)] {
        switch request.string("request") {
        case "status":
            let reports = routes.withLock { $0.map(\.report) }
            return [("routes", .array(reports.map { .object($0) }))]
        case "stop": stopped.finish(.success(()))
        case "restart": try await restart(request.string("route") ?? "")
        default: throw UsageError("The forwarder does not know this request. It may be of another version.")
        }
        return []
    }

    /// Begins a route anew, if it runs: its phantom is another one.
    private func restart(_ name: String) async throws {
        let found = routes.withLock { routes -> Route? in
            guard let index = routes.firstIndex(where: { $0.lines.name.text == name }) else { return nil }
            return routes.remove(at: index)
        }
        guard let found else { return }
        // The sockets stay, so that no other program gets the port meanwhile.
        for forwarder in found.forwarders { forwarder.stop(leavesSockets: true) }
        await found.tokens.finish()
        let profile = try directory.profile(named: found.lines.name)
        guard let lines = try ForwardLines(profile) else { return }
        let record = try ForwardRecord.kept(for: lines, in: directory)
        try start(profile, lines, phantom: record.phantom, at: found.sockets)
    }
}

extension ForwardHost {
    /// The sockets at which a route listens.
    struct Sockets: Sendable {
        let port: UInt16
        /// Whether systemd holds them, so that they stay.
        let areSystemds: Bool
        fileprivate let places: [(ForwardingRoute.Place, [SharedDescriptor])]
        /// The path of the socket beside the port; `nil` for none.
        fileprivate let path: String?

        /// Listens at the port of a route, and at a path.
        ///
        /// - Parameter port: 0 for any that is free.
        /// - Throws: `SystemFailure`, also if the port is taken.
        init(opening port: UInt16, of name: ProfileName, path: String?) throws {
            let advice = "End that program, or choose another port: identityctl profile set \(name) forward-port=NUMBER"
            let sockets = try ForwardRecord.open(port, advice: advice)
            var places = [(ForwardingRoute.Place.port(sockets.port), sockets.descriptors)]
            if let path {
                try AgentPlace.makeDirectory(of: path, for: .forwarder)
                places.append((.socket, [try AgentPlace.listen(at: path)]))
            }
            (self.port, areSystemds, self.places, self.path) = (sockets.port, false, places, path)
        }

        /// Takes the sockets that systemd holds for a route.
        ///
        /// - Throws: `SystemFailure` without a port.
        init(passed sockets: [SharedDescriptor]) throws {
            let paths = sockets.map(AgentSocket.path)
            let ports = zip(sockets, paths).filter { $1 == nil }.map { $0.0 }
            let others = zip(sockets, paths).filter { $1 != nil }.map { $0.0 }
            guard let held = ListeningSockets(listening: ports) else {
                throw SystemFailure("systemd holds no port for it. Run: identityctl forward install")
            }
            places = [(.port(held.port), held.descriptors)] + (others.isEmpty ? [] : [(.socket, others)])
            (port, areSystemds, path) = (held.port, true, paths.compactMap(\.self).first)
        }

        fileprivate func remove() {
            if let path, !areSystemds { unsafe unlink(path) }
        }
    }
}

extension ForwardHost.Route {
    fileprivate var report: JSONObject {
        let url = ForwardPlace.url(of: lines, at: sockets.port)
        var report = ForwardPlace.report(lines, url: url, socket: sockets.path)
        report["clients"] = .integer(forwarders.reduce(0) { $0 + $1.clients })
        return report
    }
}

extension Logger {
    /// Writes a line about a request: no field, no query, no body.
    fileprivate func note(_ exchange: ForwardedExchange) {
        var details: Logger.Metadata = [
            "route": "\(exchange.route)", "method": "\(exchange.method)", "path": "\(exchange.path)",
        ]
        guard let problem = exchange.problem else {
            details["status"] = "\(exchange.status)"
            details["sent"] = "\(exchange.sent)"
            details["received"] = "\(exchange.received)"
            details["ms"] = "\(Int(exchange.time / .milliseconds(1)))"
            return info("Passed a request on", metadata: details)
        }
        details["code"] = "\(problem.code.rawValue)"
        // Many programs show the phantom only when they are asked for it.
        log(level: problem.code == .phantomMissing ? .info : .warning, "Refused a request", metadata: details)
    }
}
