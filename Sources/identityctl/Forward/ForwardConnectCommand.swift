// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import IdentityClient
import SystemSupport

/// The command that gives a forwarder's socket a port on this machine.
struct ForwardConnectCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "connect",
        abstract: "Makes a port here of a forwarder's socket, such as another machine's that SSH brings.",
        discussion: """
            For programs that know no sockets. This machine then has neither a sign-in nor a token. Only programs of your own \
            may use the port.
            """
    )

    @Argument(help: "The path of the socket.", completion: .file())
    var socket: String

    @Option(help: ArgumentHelp("The port to listen at.", valueName: "127.0.0.1:port"))
    var listen: String

    @OptionGroup var output: OutputOptions

    func run(in session: Session) async throws {
        let parts = listen.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0] == "127.0.0.1", let port = UInt16(parts[1]), port > 0 else {
            throw UsageError("--listen: give a port of this machine, such as 127.0.0.1:8410.")
        }
        let path = try Self.path(socket, of: "SOCKET")
        let sockets = try ForwardRecord.open(port, advice: "Choose another port.")
        let bridge = try SocketBridge(to: path, at: sockets, session.console)
        defer { bridge.stop() }
        session.console.line("http://127.0.0.1:\(port) leads to \(path.printable)")
        ServiceNotification.send("READY=1", to: session.environment["NOTIFY_SOCKET"])
        do {
            try await Promise<Void>().value()
        } catch is CancellationError {
            // A signal ends it in good order.
        }
    }

    /// - Throws: `UsageError` for a path that does not begin with a slash.
    static func path(_ text: String, of option: String) throws -> String {
        guard text.hasPrefix("/") else { throw UsageError("\(option): the path of a socket begins with /.") }
        return text
    }
}
