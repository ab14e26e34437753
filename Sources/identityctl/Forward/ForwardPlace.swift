// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import LoopbackHTTP
import OAuthWire
import SystemSupport

/// The places of the forwarder, and how commands ask it.
enum ForwardPlace {
    /// The directory of the routes' sockets, which a container may see.
    ///
    /// - Throws: `UsageError` where the system makes no directory for the person's session.
    static func directory(_ variables: Variables) throws -> String {
        guard let directory = variables.runtimeDirectory else {
            throw UsageError(
                "XDG_RUNTIME_DIR is not set here, so the forwarder's sockets have no place. Set it to a directory of your own."
            )
        }
        return "\(directory)/identityctl/forward"
    }

    static func socket(of name: ProfileName, _ variables: Variables) throws -> String {
        "\(try directory(variables))/\(name).sock"
    }

    /// The socket that takes commands about the forwarder. It stands beside that directory, so that no container has it.
    static func control(_ variables: Variables) throws -> String { "\(try directory(variables)).control" }

    /// The address that a program is given in place of the server's.
    static func url(of lines: ForwardLines, at port: UInt16) -> String {
        "http://127.0.0.1:\(port)\(lines.path)"
    }

    /// The address, the socket and the server of a route: no secret.
    static func report(_ lines: ForwardLines, url: String, socket: String?) -> JSONObject {
        var report = JSONObject([("route", .string(lines.name.text)), ("address", .string(url))])
        report["socket"] = socket.map { .string($0) }
        report["server"] = .string(lines.address.text)
        return report
    }

    /// Whether a forwarder of this user runs.
    static func isRunning(_ variables: Variables) throws -> Bool { UnixSocket.isAlive(try control(variables)) }

    /// Asks the forwarder that runs.
    ///
    /// - Throws: `SystemFailure` if none does, and the errors of its answer.
    @discardableResult
    static func ask(_ request: String, about route: String? = nil, _ variables: Variables) async throws -> JSONObject {
        guard try isRunning(variables) else {
            throw SystemFailure("No forwarder runs here. To start one, run: identityctl forward")
        }
        var line = JSONObject([("request", .string(request))])
        line["route"] = route.map { .string($0) }
        let socket = Given(text: try control(variables), origin: "the forwarder")
        return try await AgentClient(socket: socket).ask(line.serialized() + [0x0A], within: .seconds(30))
    }
}
