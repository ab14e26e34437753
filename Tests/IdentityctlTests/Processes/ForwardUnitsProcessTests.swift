// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IdentityTestSupport
import LoopbackHTTP
import SystemSupport
import Testing

@testable import identityctl

/// `identityctl forward` where systemd, here the test, holds the sockets.
@Suite(.timeLimit(.minutes(1))) struct ForwardUnitsProcessTests {
    /// The sockets of the route `api`, as its units make them.
    private struct Sockets {
        let control: SharedDescriptor
        let ports: ListeningSockets
        let socket: SharedDescriptor

        init(_ api: ForwardedAPI, _ place: ForwardedAPI.Place, port: UInt16? = nil) throws {
            let directory = PlainFile.directory(of: place.socket)
            let attributes: [FileAttributeKey: Any] = [.posixPermissions: 0o700]
            try FileManager.default.createDirectory(
                atPath: directory,
                withIntermediateDirectories: true,
                attributes: attributes
            )
            control = try UnixSocket.listen(at: "\(directory).control")
            ports = try ListeningSockets.open(hosts: [.ipv4, .ipv6], port: port ?? place.port)
            socket = try UnixSocket.listen(at: place.socket)
        }

        var named: [(name: String, socket: SharedDescriptor)] {
            // Others stand between them, as systemd orders them by units.
            [("api", ports.descriptors[0]), ("@control", control)]
                + (ports.descriptors.dropFirst() + [socket]).map { ("api", $0) }
        }
    }

    private func start(_ api: ForwardedAPI, _ sockets: Sockets, _ arguments: String...) throws -> ActivatedTool {
        try ActivatedTool(
            ["forward", "run"] + arguments,
            api.person.variables,
            sockets.named,
            errorsIn: "\(api.person.home)/errors"
        )
    }

    @Test func takesTheSocketsOfSystemdByName() async throws {
        let api = try await ForwardedAPI()
        try await api.person.login("api")
        let place = try await api.place()
        let sockets = try Sockets(api, place)
        // A program that connects before there is a forwarder waits for it.
        let early = try RawConnection(port: place.port)
        early.send(ForwardedAPI.request(at: place.port, place.phantom))
        for _ in 0..<2 {
            let tool = try start(api, sockets)
            #expect(try await api.get(place).hasSuffix("welcome"), "\(tool.errors)")
            #expect(try ForwardedAPI.get(atSocket: place.socket).hasSuffix("welcome"))
            let status = try await api.person.run(["forward", "status"])
            #expect(
                status.status == 0 && status.output.hasPrefix("api\thttp://127.0.0.1:\(place.port)/v1\t"),
                "\(status)"
            )
            let stopped = try await api.person.run(["forward", "stop"])
            #expect(stopped.status == 0, "\(stopped)")
            #expect(try await tool.status() == 0)
            // Nothing else can take what systemd holds.
            #expect(SystemCall.exists(place.socket) && UnixSocket.isAlive(place.socket))
            #expect(throws: LoopbackServerError.self) { try ListeningSockets.open(hosts: [.ipv4], port: place.port) }
        }
        #expect(try await early.receive().hasSuffix("welcome"))
    }

    @Test func endsWithoutClientsAndIsStartedAnew() async throws {
        let api = try await ForwardedAPI()
        try await api.person.login("api")
        let place = try await api.place()
        let sockets = try Sockets(api, place)
        let first = try start(api, sockets, "--exit-idle-time", "1s")
        #expect(try await api.get(place).hasSuffix("welcome"), "\(first.errors)")
        #expect(try await first.status() == 0)
        let client = try RawConnection(port: place.port)
        client.send(ForwardedAPI.request(at: place.port, place.phantom))
        let second = try start(api, sockets, "--exit-idle-time", "1s")
        #expect(try await client.receive().hasSuffix("welcome"))
        #expect(try await second.status() == 0)
    }

    @Test func replacesThePhantomAtTheSocketsOfSystemd() async throws {
        let api = try await ForwardedAPI()
        try await api.person.login("api")
        let old = try await api.place()
        let sockets = try Sockets(api, old)
        let tool = try start(api, sockets)
        #expect(try await api.get(old).hasSuffix("welcome"), "\(tool.errors)")
        #expect(try await api.person.run(["forward", "new-phantom", "api"]).status == 0)
        #expect(try await api.get(old).hasPrefix("HTTP/1.1 401 phantom-wrong\r\n"))
        #expect(try await api.get(try await api.place()).hasSuffix("welcome"))
    }

    /// A program would wait at a socket that no process takes.
    @Test func answersWithTheReasonWhereItDoesNotServe() async throws {
        let api = try await ForwardedAPI()
        let place = try await api.place()
        let sockets = try Sockets(api, place, port: try ForwardRecord.freePort())
        let request = ForwardedAPI.request(at: sockets.ports.port, place.phantom)
        let first = try start(api, sockets)
        let refused = try await exchange(request, port: sockets.ports.port)
        #expect(refused.hasPrefix("HTTP/1.1 403 refused-by-policy\r\n"), "\(refused) \(first.errors)")
        #expect(refused.contains("systemd does not hold port \(place.port). "), "\(refused)")
        #expect(refused.contains("run: identityctl forward install"), "\(refused)")
        #expect(try await api.person.run(["forward", "stop"]).status == 0)
        #expect(try await first.status() == 0)
        #expect(try await api.person.run(["profile", "remove", "api"]).status == 0)
        let second = try start(api, sockets)
        let gone = try await exchange(request, port: sockets.ports.port)
        #expect(gone.contains("The profile 'api' has no line 'forward'."), "\(gone) \(second.errors)")
        #expect(api.requests.isEmpty)
    }

    // MARK: - Units

    /// systemctl is a script here, which writes what it is called with.
    private func installed(_ lines: String...) async throws -> ForwardedAPI {
        let api = try await ForwardedAPI("forward-port = 8410")
        try api.person.install("systemctl", #"echo "$*" >>"$HOME/called""#)
        let outcome = try await api.person.run(["forward", "install"])
        #expect(outcome.status == 0, "\(outcome)")
        return api
    }

    private static let folder = ".config/systemd/user"

    @Test func installsUnitsAndRemovesThem() async throws {
        let api = try await installed()
        let person = api.person
        let socket = try #require(person.text("\(Self.folder)/identityctl-forward-api.socket"))
        for line in [
            "Service=identityctl-forward.service", "FileDescriptorName=api", "ListenStream=127.0.0.1:8410",
            "ListenStream=%t/identityctl/forward/api.sock",
        ] { #expect(socket.contains("\n\(line)\n"), "\(socket)") }
        let names = ["identityctl-forward-api.socket", "identityctl-forward.service", "identityctl-forward.socket"]
        let manager = FileManager.default
        #expect(try manager.contentsOfDirectory(atPath: "\(person.home)/\(Self.folder)").sorted() == names)
        let sockets = "identityctl-forward-api.socket identityctl-forward.socket"
        #expect(
            person.text("called") == "--user show-environment\n--user daemon-reload\n--user enable --now \(sockets)\n"
        )
        let again = try await person.run(["forward", "install"])
        #expect(again.errors.hasPrefix("Nothing to change"), "\(again)")
        #expect(try await person.run(["profile", "set", "api", "forward-port=8411"]).status == 0)
        #expect(try await person.run(["forward", "install"]).status == 0)
        #expect(person.text("\(Self.folder)/\(names[0])")?.contains("127.0.0.1:8411") == true)
        try person.remove("called")
        let undone = try await person.run(["forward", "install", "--undo"])
        #expect(undone.status == 0 && undone.errors == "Undone.\n", "\(undone)")
        #expect(try manager.contentsOfDirectory(atPath: "\(person.home)/\(Self.folder)").isEmpty)
        let stopped = "--user stop \(names.joined(separator: " "))\n--user disable \(sockets)\n"
        #expect(person.text("called") == "--user show-environment\n\(stopped)--user daemon-reload\n")
    }

    @Test func writesNothingWithoutSystemdOrBesideAForwarder() async throws {
        let api = try await ForwardedAPI()
        try api.person.install("systemctl", "exit 1")
        let none = try await api.person.run(["forward", "install"])
        #expect(none.status == 1 && none.errors.contains("run the forwarder by itself: identityctl forward"), "\(none)")
        try api.person.install("systemctl", "exit 0")
        let tool = try await api.start()
        let busy = try await api.person.run(["forward", "install"])
        #expect(busy.status == 1 && busy.errors.contains("End it first: identityctl forward stop"), "\(busy)")
        #expect(!SystemCall.exists("\(api.person.home)/\(Self.folder)"))
        tool.interrupt()
    }

    /// Each line of the agent's service that takes rights away stands in the forwarder's, too.
    @Test func isAsStrictAsTheAgent() async throws {
        let units = try ForwardUnits(["api": 8410], program: "/usr/bin/identityctl", hasIPv6: true)
        let service = try #require(units.texts["identityctl-forward.service"])
        let root = #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
        let file = "/\(root)/Packaging/systemd/identityctl-agent.service"
        let agent = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
        let rights = agent.drop { $0 != "[Service]" }.filter { line in
            ["Restrict", "NoNew", "Lock", "Limit", "UMask", "SystemCall", "KillMode"].contains { line.hasPrefix($0) }
        }
        #expect(rights.count == 9)
        for line in rights { #expect(service.contains("\n\(line)\n"), "\(line)") }
        #expect(units.texts["identityctl-forward-api.socket"]?.contains("\nListenStream=[::1]:8410\n") == true)
        #expect(throws: UsageError.self) { try ForwardUnits([:], program: "/a %h/identityctl", hasIPv6: true) }
    }

    @Test(.enabled(if: SystemCall.exists("/usr/bin/systemd-analyze"), "needs systemd-analyze"))
    func systemdUnderstandsEveryLine() async throws {
        let api = try await installed()
        let line = "/usr/bin/systemd-analyze verify --user --man=no ./*.socket ./*.service"
        let verified = try await api.person.shell("cd '\(api.person.home)/\(Self.folder)' && \(line)")
        #expect(verified.status == 0 && verified.errors.isEmpty && verified.output.isEmpty, "\(verified)")
    }
}
