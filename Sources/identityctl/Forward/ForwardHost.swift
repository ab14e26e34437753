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
        let url: String
        let socket: String?
        let forwarders: [Forwarder]
        let tokens: ForwardTokens
    }

    private let directory: ProfileDirectory
    private let variables: Variables
    private let console: Console
    private let logger: Logger
    private let level: Logger.Level
    private let routes = Mutex<[Route]>([])
    /// Settled when a person ends the forwarder.
    let stopped = Promise<Void>()

    /// - Parameter level: That of the log of requests and of the library.
    init(_ directory: ProfileDirectory, in session: Session, level: Logger.Level) {
        self.directory = directory
        (variables, console, logger) = (session.environment.above(nil), session.console, session.logger)
        self.level = level
    }

    /// Begins to listen for a profile.
    ///
    /// - Parameters:
    ///   - record: The phantom, and the port.
    ///   - socket: The path of the socket beside the port; `nil` for none.
    /// - Returns: The port, which is any free one if the record has 0.
    /// - Throws: `SystemFailure`, also if the port is taken; `UsageError`.
    @discardableResult
    func start(_ profile: Profile, _ lines: ForwardLines, _ record: ForwardRecord, socket: String?) throws -> UInt16 {
        let tokens = ForwardTokens(lines, variables, console, level)
        let login = tokens.login
        let desk = ForwardDesk(
            wait: lines.wait,
            explain: { ForwardingProblem($0, signingInBy: login) },
            tokens.token
        )
        let advice =
            "End that program, or choose another port: identityctl profile set \(lines.name) forward-port=NUMBER"
        let sockets = try ForwardRecord.open(record.port, advice: advice)
        var places = [(ForwardingRoute.Place.port(sockets.port), sockets.descriptors)]
        if let socket { places.append((.socket, [try Self.listen(at: socket)])) }
        var forwarders: [Forwarder] = []
        do {
            for (place, listeners) in places {
                let route = try lines.route(profile, phantom: record.phantom, isSocket: place == .socket, variables)
                let note: @Sendable (ForwardedExchange) -> Void = { [logger] in logger.note($0) }
                forwarders.append(
                    try Forwarder(route, at: place, listeners: listeners, desk: desk, note: note)
                )
            }
        } catch {
            for forwarder in forwarders { forwarder.stop() }
            throw error
        }
        let route = Route(
            lines: lines,
            url: ForwardPlace.url(of: lines, at: sockets.port),
            socket: socket,
            forwarders: forwarders,
            tokens: tokens
        )
        routes.withLock { $0.append(route) }
        return sockets.port
    }

    /// Ends all connections, and removes the sockets.
    func finish() async {
        let routes = routes.withLock { routes in
            defer { routes = [] }
            return routes
        }
        for route in routes { Self.stop(route) }
        for route in routes { await route.tokens.finish() }
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
        Self.stop(found)
        await found.tokens.finish()
        let profile = try directory.profile(named: found.lines.name)
        guard let lines = try ForwardLines(profile) else { return }
        let record = try ForwardRecord.kept(for: lines, in: directory)
        try start(profile, lines, record, socket: found.socket)
    }

    private static func stop(_ route: Route) {
        for forwarder in route.forwarders { forwarder.stop() }
        if let socket = route.socket { unsafe unlink(socket) }
    }

    private static func listen(at path: String) throws -> SharedDescriptor {
        do {
            return try UnixSocket.listen(at: path, backlog: 128)
        } catch let error as SystemCallError {
            throw SystemFailure("The socket \(path.printable) could not be made", number: error.number)
        }
    }
}

extension ForwardHost.Route {
    fileprivate var report: JSONObject {
        var report = ForwardPlace.report(lines, url: url, socket: socket)
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
