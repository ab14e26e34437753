// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IdentityTestSupport
import LoopbackHTTP
import SystemSupport
import Testing

@testable import identityctl

/// Commands that use an API through a forwarder of their own, or through another machine's.
@Suite(.timeLimit(.minutes(1))) struct ForwardExecProcessTests {
    /// A request of a shell without any other program.
    private static let request = """
        port=${IDENTITYCTL_FORWARD_URL#http://127.0.0.1:}; port=${port%%/*}; exec 3<>/dev/tcp/127.0.0.1/$port
        printf 'GET /v1/models HTTP/1.1\\r\\nHost: 127.0.0.1:%s\\r\\nx-api-key: %s\\r\\nConnection: close\\r\\n\\r\\n' \
        $port $IDENTITYCTL_FORWARD_PHANTOM >&3; cat <&3

        """

    private func names(_ api: ForwardedAPI) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: "\(api.person.home)/run")
    }

    private func start(_ api: ForwardedAPI, _ options: String..., command: String) throws -> Tool {
        try Tool(
            ["exec", "--forward"] + options + ["--", "/bin/bash", "-c", command],
            api.person.variables.merging(["no_proxy": ".corp"]) { $1 }
        )
    }

    @Test func theCommandUsesTheAPIAndHasNoToken() async throws {
        let api = try await ForwardedAPI()
        let token = try await api.person.login("api")
        let tool = try start(
            api,
            "http,claude-code",
            "--profile=api",
            command: Self.request + "echo; env; cat /proc/$$/environ | tr '\\0' '\\n'; exit 7"
        )
        let outcome = try await tool.outcome()
        #expect(outcome.status == 7 && outcome.output.contains("\r\n\r\nwelcome\n"), "\(outcome)")
        #expect(api.requests.first?.headers["Authorization"] == "Bearer \(token)")
        #expect(!outcome.output.contains(token) && !outcome.errors.contains(token))
        let variables = outcome.output.split(separator: "\n")
        #expect(variables.contains("no_proxy=.corp,127.0.0.1,::1,localhost"), "\(outcome)")
        #expect(variables.contains { $0.hasPrefix("ANTHROPIC_AUTH_TOKEN=fwd_") })
        #expect(try await eventually { try names(api).isEmpty })
    }

    /// The forwarder ends with the command, also with one that is killed.
    @Test func theForwarderEndsWithTheCommand() async throws {
        let api = try await ForwardedAPI()
        try await api.person.login("api")
        let tool = try start(
            api,
            "http",
            "--profile=api",
            command: "/bin/true; echo $IDENTITYCTL_FORWARD_URL; read -r line"
        )
        let url = try await tool.poll("the address") { tool.text.hasSuffix("\n") ? String(tool.text.dropLast()) : nil }
        let port = try #require(URL(string: url)?.port.flatMap { UInt16($0) })
        let client = try RawConnection(port: port)
        #expect(tool.interrupt(by: SIGKILL))
        _ = try await tool.outcome()
        _ = try? await client.receive()
        #expect(throws: RawConnection.Failure.self) { try RawConnection(port: port) }
        #expect(try await eventually { try names(api).isEmpty })
    }

    @Test func npmGetsAFileOfItsOwn() async throws {
        let api = try await ForwardedAPI()
        try await api.person.login("api")
        let command = "stat -c %a $NPM_CONFIG_USERCONFIG; cat $NPM_CONFIG_USERCONFIG"
        let outcome = try await start(api, "npm", "--profile=api", command: command).outcome()
        let lines = outcome.output.split(separator: "\n")
        #expect(lines.count == 4 && lines[0] == "600" && lines[3] == "replace-registry-host=always", "\(outcome)")
        #expect(lines[1].hasPrefix("registry=http://127.0.0.1:") && lines[1].hasSuffix("/v1/"))
        #expect(lines[2].contains("/v1/:_authToken=fwd_"))
        #expect(try await eventually { try names(api).isEmpty })
    }

    @Test(
        arguments: [
            (["--forward", "http"], "which profile? Give --profile NAME."),
            (["--forward", "http", "--profile", "work"], "has no line 'forward'"),
            (["--forward", "ftp", "--profile", "api"], "'ftp' is none of http, claude-code"),
            (["--forward", "http", "--profile", "api", "--scope", "a"], "--scope: not with --forward"),
            (["--forward", "http", "--profile", "api", "--env", "A"], "--env: not with --forward"),
            (["--forward", "http", "--profile", "api", "--token-file"], "--token-file: not with --forward"),
            (["--forward-at", "/run/a.sock"], "--forward-at: give --forward as well."),
            (["--forward", "git", "--forward-at", "/run/a.sock"], "does not know git's server"),
            (["--forward", "http", "--forward-at", "a.sock"], "the path of a socket begins with /."),
        ]
    )
    func theCommandIsNotStartedAfterAMistake(_ options: [String], _ reason: String) async throws {
        let api = try await ForwardedAPI()
        let outcome = try await api.person.run(["exec"] + options + ["--", "echo", "started"])
        #expect(outcome.status == 64 && outcome.output.isEmpty && outcome.errors.contains(reason), "\(outcome)")
        #expect(try names(api).isEmpty)
    }

    /// A machine that has nothing but the socket.
    @Test func aMachineWithTheSocketAloneUsesTheAPI() async throws {
        let api = try await ForwardedAPI()
        let token = try await api.person.login("api")
        let forwarder = try await api.start()
        let place = try await api.place()
        let far = try TemporaryDirectory()
        let variables = ["HOME": far.path, "XDG_RUNTIME_DIR": far.path]
        let arguments = ["exec", "--forward", "http", "--forward-at", place.socket, "--", "/bin/bash", "-c"]
        let outcome = try await Tool.run(arguments + [Self.request], variables)
        #expect(outcome.status == 0 && outcome.output.hasSuffix("\r\n\r\nwelcome"), "\(outcome)")
        #expect(api.requests.last?.headers["Authorization"] == "Bearer \(token)")
        forwarder.interrupt()
    }

    /// Gives a socket a port, and waits until programs can use it.
    private func connect(to socket: String) async throws -> (bridge: Tool, port: UInt16) {
        let port = try ForwardRecord.freePort()
        let bridge = try Tool(["forward", "connect", socket, "--listen", "127.0.0.1:\(port)"], [:])
        _ = try await bridge.errorLine { $0 == "http://127.0.0.1:\(port) leads to \(socket)" }
        return (bridge, port)
    }

    @Test func aPortLeadsToTheSocketUntilASignal() async throws {
        let api = try await ForwardedAPI()
        try await api.person.login("api")
        let forwarder = try await api.start()
        let place = try await api.place()
        let (bridge, port) = try await connect(to: place.socket)
        for _ in 0..<20 {
            #expect(try await exchange(ForwardedAPI.request(at: port), port: port).hasSuffix("welcome"))
        }
        // A page in a browser is refused at the other end.
        let page = ForwardedAPI.request(at: port)
            .replacing("Connection", with: "Origin: http://evil.test\r\nConnection")
        #expect(try await exchange(page, port: port).hasPrefix("HTTP/1.1 403 browser\r\n"))
        forwarder.interrupt()
        _ = try await forwarder.outcome()
        // The connection may be reset, since nothing has read the request.
        let unanswered = try? await exchange(ForwardedAPI.request(at: port), port: port)
        #expect(unanswered?.isEmpty != false)
        _ = try await bridge.errorLine { $0.hasPrefix("No forwarder answers at \(place.socket): ") }
        bridge.interrupt()
        #expect(try await bridge.outcome().status == 0)
    }

    /// Root alone can try this. The socket asks for no phantom.
    @Test(.enabled(if: geteuid() == 0 && SystemCall.exists("/usr/bin/setpriv")))
    func aPortIsForItsUserAlone() async throws {
        let api = try await ForwardedAPI()
        try await api.person.login("api")
        let forwarder = try await api.start()
        let place = try await api.place()
        let (bridge, port) = try await connect(to: place.socket)
        let variables = ["IDENTITYCTL_FORWARD_URL": "http://127.0.0.1:\(port)", "IDENTITYCTL_FORWARD_PHANTOM": "any"]
        let own = try await Tool(shell: "exec /bin/bash -c '\(Self.quoted)'", variables).outcome()
        #expect(own.output.hasSuffix("welcome"), "\(own)")
        let line = "exec setpriv --reuid=65534 --clear-groups -- /bin/bash -c '\(Self.quoted)'"
        let other = try await Tool(shell: line, variables).outcome()
        #expect(!other.output.contains("HTTP/1.1") && api.requests.count == 1, "\(other)")
        forwarder.interrupt()
        bridge.interrupt()
    }

    /// The request in single quotes of a shell.
    private static var quoted: String { request.replacing("'", with: #"'\''"#) }

    @Test(arguments: ["127.0.0.1", "0.0.0.0:8410", "127.0.0.1:0", "[::1]:8410", "8410"])
    func aPortElsewhereIsRefused(_ place: String) async throws {
        let outcome = try await Tool.run(["forward", "connect", "/run/a.sock", "--listen", place])
        #expect(outcome.status == 64 && outcome.errors.contains("such as 127.0.0.1:8410"), "\(outcome)")
    }

    // MARK: Real programs

    private static func has(_ program: String) -> Bool { SystemCall.exists("/usr/bin/\(program)") }

    @Test(.enabled(if: has("curl"))) func curlShowsThePhantomAsAPassword() async throws {
        let api = try await ForwardedAPI { request, _ in
            request.method == "PUT" ? LoopbackResponse(status: 200, text: "\(request.body.count)") : nil
        }
        try await api.person.login("api")
        let command = """
            curl -sS -u "me:$IDENTITYCTL_FORWARD_PHANTOM" "$IDENTITYCTL_FORWARD_URL/a"; echo
            head -c 60000 /dev/zero | curl -sS -X PUT --data-binary @- -H 'Expect: 100-continue' \
            -H "x-api-key: $IDENTITYCTL_FORWARD_PHANTOM" "$IDENTITYCTL_FORWARD_URL/b"; echo
            curl -sS -o /dev/null -w '%{http_code}' "$IDENTITYCTL_FORWARD_URL/c"
            """
        let outcome = try await start(api, "http", "--profile=api", command: command).outcome()
        #expect(outcome.output == "welcome\n60000\n401", "\(outcome)")
    }

    @Test(.enabled(if: has("git"))) func gitIsLedToTheForwarder() async throws {
        let id = String(repeating: "0123456789", count: 4)
        let api = try await ForwardedAPI(pages: ["/v1/a.git/info/refs": "\(id)\trefs/heads/main\n"])
        try await api.person.login("api")
        let command = "git ls-remote \(api.address)/a.git"
        let outcome = try await start(api, "git", "--profile=api", command: command).outcome()
        #expect(outcome.status == 0 && outcome.output == "\(id)\trefs/heads/main\n", "\(outcome)")
        // The first request of git has no password.
        #expect(api.requests.allSatisfy { $0.headers["Authorization"]?.hasPrefix("Bearer ") == true })
    }

    @Test(.enabled(if: has("npm"))) func npmFindsAPackage() async throws {
        let versions = #""versions":{"1.2.3":{"name":"demo","version":"1.2.3"}}"#
        let text = #"{"name":"demo","dist-tags":{"latest":"1.2.3"},\#(versions)}"#
        let api = try await ForwardedAPI(pages: ["/v1/demo": text])
        try await api.person.login("api")
        let command = "npm view demo version --no-update-notifier"
        let outcome = try await start(api, "npm", "--profile=api", command: command).outcome()
        #expect(outcome.status == 0 && outcome.output.contains("1.2.3"), "\(outcome)")
    }

    @Test(.enabled(if: has("pip3"))) func pipFindsAPackage() async throws {
        let page = #"<html><body><a href="demo-1.2.3.tar.gz">demo-1.2.3.tar.gz</a></body></html>"#
        let api = try await ForwardedAPI(pages: ["/v1/demo/": page])
        try await api.person.login("api")
        let command = "/usr/bin/python3 -m pip index versions demo --disable-pip-version-check"
        let outcome = try await start(api, "pip", "--profile=api", command: command).outcome()
        #expect(outcome.status == 0 && outcome.output.contains("demo (1.2.3)"), "\(outcome)")
    }
}
