// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import OAuthWire
import SystemSupport

// Running a command with a forwarder in place of a token.
extension ExecCommand {
    /// Returns what the command is told; nothing without `--forward`.
    ///
    /// - Throws: `UsageError`, also for options that say what the profile says.
    func recipes() throws -> [ForwardRecipe] {
        guard let forward else {
            guard forwardAt == nil else { throw UsageError("--forward-at: give --forward as well.") }
            return []
        }
        let recipes = try forward.split(separator: ",", omittingEmptySubsequences: false).map { name in
            guard let recipe = ForwardRecipe(rawValue: String(name)) else {
                let known = ForwardRecipe.allCases.map(\.rawValue).joined(separator: ", ")
                throw UsageError("--forward: '\(String(name).printable)' is none of \(known).")
            }
            return recipe
        }
        let groups = OptionGroups(provider: provider, token: token, account: account, silent: silent)
        let given = Setting.ofToken.first { groups.isGiven($0) && (forwardAt != nil || $0.name != "profile") }
        if let option = given?.option ?? (names.isEmpty ? nil : "--env") ?? (isFile ? "--token-file" : nil) {
            throw UsageError("\(option): not with --forward, where the profile of the forwarder says everything.")
        }
        if forwardAt != nil, recipes.contains(.git) {
            throw UsageError("--forward git: not with --forward-at, since this machine does not know git's server.")
        }
        return recipes
    }

    /// Starts the forwarder, and returns the variables of the command.
    func forwardedVariables(in session: Session) async throws -> [CText] {
        let directory = try await startCompanion(in: session)
        let file = "\(directory)/forward"
        guard let found = try PlainFile.read(file, atMost: 8192, check: { _ in }),
            let place = ForwardRecipe.Place(decoding: found.bytes)
        else { throw SystemFailure("The process beside the command ended before it was ready.") }
        _ = PlainFile.remove(file)
        let known = session.environment["no_proxy"] ?? session.environment["NO_PROXY"]
        let hosts = ForwardRecipe.withoutProxy(beside: known)
        var changes = try recipes().flatMap { recipe in
            recipe.variables(place, npmrc: "\(directory)/npmrc") { session.environment[$0] }
        }
        changes += [("no_proxy", hosts), ("NO_PROXY", hosts)]
        var variables = CText.environment
        for (name, value) in changes {
            variables = CommandEnvironment.variables(
                variables,
                withholding: Variables.secrets.union([name]),
                setting: value == nil ? [] : [name],
                to: value ?? ""
            )
        }
        return variables
    }

    /// Passes the command's requests on until it ends.
    func beForwarder(in directory: String, _ session: Session) async throws {
        session.hideMemory()
        try await Companion.run { ready in
            if let forwardAt {
                try await connect(to: forwardAt, in: directory, session, ready)
            } else {
                try await passOn(in: directory, session, ready)
            }
        }
    }

    private func connect(
        to socket: String,
        in directory: String,
        _ session: Session,
        _ ready: () -> Void
    ) async throws {
        let path = try ForwardConnectCommand.path(socket, of: "--forward-at")
        let sockets = try ForwardRecord.open(0, advice: "End a few programs, and try again.")
        let bridge = try SocketBridge(to: path, at: sockets, session.console)
        defer { bridge.stop() }
        let phantom = session.environment["IDENTITYCTL_FORWARD_PHANTOM"] ?? ForwardRecord.newPhantom()
        let place = ForwardRecipe.Place(port: bridge.port, phantom: phantom, path: "", server: nil)
        try await wait(at: place, in: directory, session, ready)
    }

    private func passOn(in directory: String, _ session: Session, _ ready: () -> Void) async throws {
        let directories = try ProfileDirectory(session.environment)
        // An agent may have the tokens; the lines about the forwarder stand on this machine.
        let found = try TokenRoute(provider, session.environment.above(nil), session.lines).variables.profile
        guard let found else { throw UsageError("--forward: which profile? Give --profile NAME.") }
        let profile = try directories.profile(named: found.name)
        guard let lines = try ForwardLines(profile) else {
            throw UsageError(ForwardRunCommand.hasNoLine(profile.name))
        }
        let host = ForwardHost(directories, in: session, level: try output.level(session.environment))
        let phantom = ForwardRecord.newPhantom()
        do {
            let sockets = try ForwardHost.Sockets(opening: 0, of: profile.name, path: nil)
            try host.start(profile, lines, phantom: phantom, at: sockets)
            let place = ForwardRecipe.Place(
                port: sockets.port,
                phantom: phantom,
                path: lines.path,
                server: lines.address.origin + lines.path
            )
            try await wait(at: place, in: directory, session, ready)
        } catch {
            await host.finish()
            throw error
        }
    }

    /// Tells the place, and waits until the task is cancelled.
    private func wait(
        at place: ForwardRecipe.Place,
        in directory: String,
        _ session: Session,
        _ ready: () -> Void
    ) async throws {
        if try recipes().contains(.npm) {
            try PlainFile.write(Array(ForwardRecipe.npmrc(place).utf8), to: "\(directory)/npmrc")
        }
        try PlainFile.write(place.encoded, to: "\(directory)/forward")
        session.console.share()
        ready()
        try await Promise<Void>().value()
    }
}

extension ForwardRecipe.Place {
    /// - Parameter bytes: The bytes of ``encoded``.
    fileprivate init?(decoding bytes: [UInt8]) {
        guard let object = try? JSONObject(parsing: bytes), let phantom = object.string("phantom"),
            let path = object.string("path"), let port = object.integer("port").flatMap(UInt16.init(exactly:))
        else { return nil }
        self.init(port: port, phantom: phantom, path: path, server: object.string("server"))
    }

    fileprivate var encoded: [UInt8] {
        var object = JSONObject([
            ("port", .integer(port)), ("phantom", .string(phantom)), ("path", .string(path)),
        ])
        object["server"] = server.map { .string($0) }
        return object.serialized()
    }
}
