// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import IdentityClient
import OAuthWire
import Synchronization
import SystemSupport

/// Offers the page of a sign-in through the host, which shows its address and opens it. To open it is no consent: the page asks
/// as any other does.
///
/// - SeeAlso: [Elicitation](https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation), "URL mode"
final class MCPOffer: Sendable {
    /// The time in which no person says no. A host without a person does.
    private static let reflex = Duration.milliseconds(700)
    private static let pause = Duration.milliseconds(50)

    private struct State {
        /// Writes a line to the host, if the host shows addresses.
        var write: (@Sendable ([UInt8]) async -> Void)?
        var waiting: [String: Promise<String>] = [:]
        /// The offers that the person has taken up.
        var opened: [String] = []
        var last = 0
    }

    private let state = Mutex(State())
    private let server: String

    init(server: String) {
        self.server = server
    }

    /// Whether the host shows addresses.
    var isPossible: Bool { state.withLock { $0.write != nil } }

    /// Reads from the host's first message whether it shows addresses.
    func begin(_ initialize: MCPMessage, _ write: @escaping @Sendable ([UInt8]) async -> Void) {
        let params = try? initialize.members.members("params")
        guard case .object(let capabilities)? = try? params?.value("capabilities"),
            capabilities.object("elicitation")?["url"] != nil
        else { return }
        state.withLock { $0.write = write }
    }

    /// Takes the host's answer to an offer.
    ///
    /// - Returns: Whether it is one.
    func take(_ message: MCPMessage) -> Bool {
        guard message.isAnswer, let id = message.id?.string,
            let promise = state.withLock({ $0.waiting.removeValue(forKey: id) })
        else { return false }
        let action = try? message.members.members("result")?.value("action")?.string
        promise.finish(.success(action ?? "error"))
        return true
    }

    /// The variables of a sign-in whose page is offered: its browser leaves the page for bridges.
    static func variables(_ turns: SignInTurn) -> [String: String] {
        let name = turns.directory.split(separator: "/").last ?? ""
        return [Variables.variable(for: "browser"): "/proc/self/exe mcp --page=\(name)"]
    }

    /// Offers the page of a sign-in while `work` waits for it. Another bridge may have begun the sign-in.
    func offering<Value: Sendable>(
        _ turns: SignInTurn,
        while work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let offer = Task { await self.offer(turns) }
        defer { offer.cancel() }
        let value = try await work()
        let (write, opened) = state.withLock { state in
            defer { state.opened = [] }
            return (state.write, state.opened)
        }
        for id in opened {
            await write?(
                MCPMessage.notification(
                    "notifications/elicitation/complete",
                    JSONObject([("elicitationId", .string(id))])
                )
            )
        }
        return value
    }

    private func offer(_ turns: SignInTurn) async {
        guard let write = state.withLock(\.write) else { return }
        var page: Page?
        while page == nil {
            do { try await Task.sleep(for: Self.pause) } catch { return }
            page = Page(of: turns)
        }
        guard let page else { return }
        let (id, answer) = state.withLock { state in
            state.last += 1
            let (id, answer) = ("identityctl-\(getpid())-\(state.last)", Promise<String>())
            state.waiting[id] = answer
            return (id, answer)
        }
        let start = ContinuousClock.now
        await write(Self.request(id, page.address, server))
        let action: String
        do {
            action = try await answer.value()
        } catch {
            // The sign-in has ended.
            state.withLock { $0.waiting[id] = nil }
            let params = JSONObject([("requestId", .string(id)), ("reason", .string("The sign-in has ended."))])
            return await write(MCPMessage.notification("notifications/cancelled", params))
        }
        guard action != "accept" else {
            // The page is used once.
            Page.remove(turns)
            return state.withLock { $0.opened.append(id) }
        }
        if ContinuousClock.now - start < Self.reflex {
            // The host has no person, or shows no addresses. The browser opens.
            state.withLock { $0.write = nil }
            turns.forgetQuestion()
        } else if action == "decline" {
            try? turns.decline()  // the next page would open too early
        }
        page.end()
    }

    private static func request(_ id: String, _ address: String, _ server: String) -> [UInt8] {
        let message =
            "Sign in to \(server)? The page asks before anything is sent. In a terminal: "
            + "identityctl login --resource \(server.shellWord)"
        let params = JSONObject([
            ("mode", .string("url")), ("elicitationId", .string(id)), ("url", .string(address)),
            ("message", .string(message)),
        ])
        return JSONObject([
            ("jsonrpc", .string("2.0")), ("id", .string(id)), ("method", .string("elicitation/create")),
            ("params", .object(params)),
        ]).serialized()
    }
}

extension MCPOffer {
    /// The page that the process of a sign-in waits at.
    struct Page {
        let address: String
        private let process: pid_t

        private static func path(_ directory: String) -> String { "\(directory)/page" }

        /// - Returns: `nil` if no sign-in waits.
        init?(of turns: SignInTurn) {
            let read = try? PlainFile.read(Self.path(turns.directory), atMost: 4096) { status in
                guard status.st_uid == geteuid() else { throw CancellationError() }
            }
            let lines = String(decoding: read?.bytes ?? [], as: UTF8.self).split(separator: "\n")
            guard lines.count == 2, lines[0].hasPrefix("http://127.0.0.1:"), let process = pid_t(lines[1]), process > 1,
                kill(process, 0) == 0
            else { return nil }
            (address, self.process) = (String(lines[0]), process)
        }

        /// Leaves the page that the starting process waits at.
        static func leave(_ address: String, in directory: String) throws {
            try PlainFile.write(Array("\(address)\n\(getppid())\n".utf8), to: path(directory))
        }

        static func remove(_ turns: SignInTurn) { _ = PlainFile.remove(path(turns.directory)) }

        /// Ends the sign-in.
        func end() { kill(process, SIGTERM) }
    }
}
