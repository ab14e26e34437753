// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import IdentityClient
import IdentityResources
import OAuthWire
import Synchronization
import SystemSupport

/// A bridge between a host, which speaks MCP in lines, and a server, which speaks it over HTTP. Each message is a request of
/// its own, in a task of its own. It translates nothing between the protocol's revisions.
///
/// - SeeAlso: [Transports](https://modelcontextprotocol.io/specification/2025-11-25/basic/transports)
final class MCPBridge: Sendable {
    /// The most messages that wait for their end at the same time.
    private static let maximumRunning = 256
    /// The code of errors that JSON-RPC leaves to programs.
    private static let failed = -32000
    /// Requests that hosts send by themselves, without a person who wants something.
    private static let own: Set = ["ping", "logging/setLevel"]

    struct State {
        /// The host's first messages, which are repeated where a server has forgotten its session.
        var initialize: MCPMessage?
        var initialized: MCPMessage?
        /// The host's knowledge of the server, and its source.
        var start = Start()
        /// The revision that host and server agreed on, up to 2025-11-25.
        var version: String?
        var sessionID: String?
        /// Settled when the messages that must come first have been sent.
        var gate: Promise<Void>?
        var fields = MCPFields()
        /// The messages under way, by numbers.
        var running: [UInt64: Exchange] = [:]
        /// The numbers of the requests under way, by their ids.
        var numbers: [JSONValue: UInt64] = [:]
        var last: UInt64 = 0
        /// Receives the server's own messages.
        var listening: Task<Void, Never>?
    }

    /// A message under way.
    struct Exchange {
        let departure: MCPDeparture
        /// Whether closing its stream cancels it (revision 2026-07-28).
        let isCancelledByClosing: Bool
        let task: Task<Void, Never>
    }

    let state = Mutex(State())
    let access: MCPAccess
    let memory: MCPMemory
    let tool: MCPSignInTool
    let console: Console
    private let request: HTTPRequest
    let explain: @Sendable (any Error) -> String
    private let output = QueueExecutor("identityctl.mcp-output")
    private let ended = Promise<Void>()
    let renewals = SingleFlight<Renewal, Void>()

    /// The beginning of a session: the first one, or one in place of a forgotten one.
    struct Renewal: Hashable {
        let forgotten: String?
        let asks: Bool
    }

    /// - Parameter explain: Returns what went wrong and what to do, in a line.
    init(
        _ access: MCPAccess,
        at request: HTTPRequest,
        _ memory: MCPMemory,
        _ tool: MCPSignInTool,
        _ console: Console,
        _ explain: @escaping @Sendable (any Error) -> String
    ) {
        (self.access, self.request, self.console, self.explain) = (access, request, console, explain)
        (self.memory, self.tool) = (memory, tool)
    }

    /// Waits until the host reads no more.
    func failure() async throws { try await ended.value() }

    /// Ends all requests, with a second for those under way, and then the session. A request that has no answer gets an error.
    func end() async {
        let (tasks, listening) = state.withLock { ($0.running.values.map(\.task), $0.listening) }
        listening?.cancel()
        try? await withDeadline(.seconds(1)) { for task in tasks { await task.value } }
        for task in tasks { task.cancel() }
        try? await withDeadline(.milliseconds(500)) { for task in tasks { await task.value } }
        guard state.withLock(\.sessionID) != nil else { return }
        // The signal that ended the command does not end this.
        await Task {
            _ = try? await withDeadline(.seconds(1)) { [self] in
                try await access.stream(request(.delete), asks: false).response.status
            }
        }.value
    }

    // MARK: - Messages of the host

    func receive(_ line: MCPLines.Line) async {
        do {
            switch line {
            case .whole(let text):
                for message in try MCPMessage.all(in: text) where !access.offer.take(message) { await begin(message) }
            case .tooLong: throw MCPMessage.Problem.tooLarge
            }
        } catch {
            let text =
                switch line {
                case .whole(let text), .tooLong(let text): text
                }
            await write(MCPMessage.failure(of: MCPMessage.id(inBeginningOf: text), -32600, "\(error)"))
        }
    }

    private func begin(_ message: MCPMessage) async {
        let version: String?
        let cancelled: Exchange?
        do {
            version = try MCPFields.version(of: message)
            cancelled = try exchange(cancelledBy: message)
        } catch {
            return await answer(message, with: error)
        }
        if let cancelled, !cancelled.departure.cancel() || cancelled.isCancelledByClosing {
            return cancelled.task.cancel()
        }
        let departure = MCPDeparture()
        let hasBegun = state.withLock { state in
            // The cancellation of a request under way is no more than one more message.
            guard state.running.count < Self.maximumRunning || cancelled != nil else { return false }
            let before = version == nil && cancelled == nil ? state.gate : nil
            if message.method == "initialize" || message.method == "notifications/initialized" {
                state.gate = departure.gate
            }
            state.last += 1
            let number = state.last
            if message.isRequest, let id = message.id { state.numbers[id] = number }
            let task = Task {
                try? await before?.value()
                await MCPDeparture.$current.withValue(departure) { await run(message, version, cancelling: cancelled) }
                departure.end()
                departure.gate.finish(.success(()))
                self.state.withLock { state in
                    state.running[number] = nil
                    if let id = message.id, state.numbers[id] == number { state.numbers[id] = nil }
                }
            }
            state.running[number] = Exchange(
                departure: departure,
                isCancelledByClosing: version != nil,
                task: task
            )
            return true
        }
        if !hasBegun {
            await answer(message, with: MCPMessage.Problem("\(Self.maximumRunning) messages wait for answers already."))
        }
    }

    /// Returns the exchange under way that a notification is about.
    private func exchange(cancelledBy message: MCPMessage) throws -> Exchange? {
        guard message.method == "notifications/cancelled",
            let id = try message.members.members("params")?.value("requestId")
        else {
            return nil
        }
        return state.withLock { state in state.numbers[id].flatMap { state.running[$0] } }
    }

    /// - Parameter cancelled: The exchange that the message cancels: it has left before, and its stream ends afterwards.
    private func run(_ message: MCPMessage, _ version: String?, cancelling cancelled: Exchange? = nil) async {
        if let cancelled {
            guard await cancelled.departure.waitForArrival() else { return }
            // A server that does not take the notification keeps no stream open by that.
            try? await withDeadline(.seconds(5)) { await self.run(message, version) }
            return cancelled.task.cancel()
        }
        do {
            try await answer(message, version)
        } catch {
            guard MCPDeparture.current?.isCancelled != true else { return }  // the host waits no more
            guard Task.isCancelled else { return await answer(message, with: error) }
            guard message.isRequest else { return }
            let ended =
                "The input ended before the server's answer. Whether the server did what was asked is not known."
            await answer(message, with: MCPMessage.Problem("\(ended) Keep the input open until all answers are there."))
        }
    }

    /// Answers a message of the host.
    private func answer(_ message: MCPMessage, _ version: String?) async throws {
        let start = state.withLock(\.start)
        if message.isRequest, let outdated = start.outdated, message.method != "initialize" { throw outdated }
        if MCPMemory.keeps(message), let method = message.method {
            return try await answerFirst(message, method, version)
        }
        if let list = start.unlisted, MCPSignInTool.isCalled(by: message) {
            return try await signIn(message, list, version)
        }
        if start.isAhead, message.method == "ping", message.isRequest {
            return await write(MCPMessage.result(of: message.id, JSONObject()))
        }
        try await exchange(message, version, asks: message.isRequest && !Self.own.contains(message.method ?? ""))
    }

    /// Tells the host what went wrong with its message, or else the person.
    private func answer(_ message: MCPMessage, with error: any Error) async {
        guard message.isRequest else { return console.line(explain(error)) }
        let isFirst = MCPDeparture.current?.claimAnswer() != false
        let refusal = error as? MCPRefusal
        if let object = refusal?.error {
            let line = MCPMessage.failure(of: message.id, object)
            if isFirst { await write(line) }
            // It is an answer of the server's like others.
            guard let answer = try? MCPMessage(line) else { return }
            try? await note(answer, to: message, isFirst: isFirst)
            return await remember(answer, to: message)
        }
        guard isFirst else { return }
        let code = (error as? AuthenticationError).map { JSONObject([("code", .string($0.code.rawValue))]) }
        await write(MCPMessage.failure(of: message.id, Self.failed, explain(error), data: refusal?.numbers ?? code))
    }

    // MARK: - Requests

    func request(_ method: HTTPRequest.Method, in version: HTTPFields? = nil) -> HTTPRequest {
        var request = request
        request.method = method
        let (agreed, session) = state.withLock { ($0.version, $0.sessionID) }
        request.headerFields[.accept] = method == .get ? "text/event-stream" : "application/json, text/event-stream"
        if let version {
            request.headerFields.append(contentsOf: version)
        } else {
            if let agreed { request.headerFields[.protocolVersion] = agreed }
            if let session { request.headerFields[.mcpSessionID] = session }
        }
        return request
    }

    /// Sends a message, and writes what the server answers.
    ///
    /// - Parameter asks: Whether the person is asked if there is no token.
    func exchange(_ message: MCPMessage, _ version: String?, asks: Bool, isRepeated: Bool = false) async throws {
        let isFirst = message.method == "initialize"
        if isFirst {
            state.withLock { ($0.initialize, $0.sessionID, $0.version) = (message, nil, nil) }
        } else if version == nil {
            guard !holdsBack(message) else { return }
            try await catchUp(asks: asks)
        }
        let fields = try version.map { version in
            try state.withLock(\.fields).fields(for: message, version: version)
        }
        let session = fields == nil && !isFirst && !isRepeated ? state.withLock(\.sessionID) : nil
        let (response, body) = try await send(message, in: fields, asks: asks, returnsRefusal: session != nil)
        guard response.status.kind == .successful else {
            let refusal = await refusal(response, body)
            guard let session, refusal.mayBeOfSession else {
                throw isFirst || message.method == "server/discover" ? refusal.ofFirstMessage : refusal
            }
            try await renew(Renewal(forgotten: session, asks: asks))
            return try await exchange(message, version, asks: asks, isRepeated: true)
        }
        if isFirst { try adopt(response) }
        if message.method == "notifications/initialized" {
            listen()
        }
        guard message.isRequest else { return }
        if response.mediaType == "text/event-stream" {
            try await follow(body, for: message, resumes: fields == nil)
        } else {
            let text = try await Self.whole(response, body)
            guard !text.isEmpty else { throw MCPMessage.Problem("The server took the request, and gave no answer.") }
            var isAnswered = false
            for answer in try MCPMessage.all(in: text) {
                isAnswered = try await deliver(answer, to: message) || isAnswered
            }
            guard isAnswered else { throw MCPMessage.Problem("The server answered another request.") }
        }
    }

    /// Sends a message. One that only reads is sent once more if the connection broke before the answer: a server may close a
    /// connection at the moment in which it is used again.
    private func send(
        _ message: MCPMessage,
        in fields: HTTPFields?,
        asks: Bool,
        returnsRefusal: Bool
    ) async throws -> (response: HTTPResponse, body: ResponseBody) {
        let only = ["initialize", "server/discover", "ping", "resources/read", "prompts/get", "completion/complete"]
        let reads = message.method.map { $0.hasSuffix("/list") || only.contains($0) } ?? false
        do {
            return try await access.stream(
                request(.post, in: fields),
                body: message.line,
                asks: asks,
                returnsRefusal: returnsRefusal
            )
        } catch let error as AuthenticationError where reads && .connectionFailed ~= error.code {
            return try await access.stream(
                request(.post, in: fields),
                body: message.line,
                asks: asks,
                returnsRefusal: returnsRefusal
            )
        }
    }

    func refusal(_ response: HTTPResponse, _ body: ResponseBody) async -> MCPRefusal {
        await MCPRefusal(response, body, now: SystemClock().unixSeconds)
    }

    /// Takes the session of a first answer.
    func adopt(_ response: HTTPResponse) throws {
        let session = response.headerFields[.mcpSessionID]
        guard session.map(MCPFields.isUsable) != false else {
            throw MCPMessage.Problem("The server named a session with characters that no header field may hold.")
        }
        state.withLock { $0.sessionID = session }
    }

    static func whole(_ response: HTTPResponse, _ body: ResponseBody) async throws -> [UInt8] {
        var text: [UInt8] = []
        for try await piece in body {
            text += piece
            guard text.count <= MCPMessage.maximumBytes else { throw MCPMessage.Problem.tooLarge }
        }
        return text.withoutMark
    }

    // MARK: - Messages of the server

    /// Writes a message of the server. An answer to another request is left out: that request has an answer of its own, and the
    /// host could take this one for it.
    ///
    /// - Parameter request: The request whose stream brought it; `nil` for the server's own stream.
    /// - Returns: Whether it is the request's answer.
    func deliver(_ message: MCPMessage, to request: MCPMessage?) async throws -> Bool {
        guard let request, message.isAnswer else {
            await write(message.line)
            return false
        }
        guard let answer = try message.answer(to: request) else { return false }
        let isFirst = MCPDeparture.current?.claimAnswer() != false
        try await note(answer, to: request, isFirst: isFirst)
        if isFirst { try await tell(answer, to: request) }
        await remember(answer, to: request)
        return true
    }

    /// Gives the host an answer.
    func tell(_ answer: MCPMessage, to request: MCPMessage) async throws {
        var answer = answer
        if request.method == "initialize",
            let version = try answer.members.members("result")?.value("protocolVersion")?.string,
            MCPFields.isUsable(version)
        {
            state.withLock { $0.version = version }
        }
        if request.method == "tools/list", try MCPFields.version(of: request) != nil {
            let listing = try MCPFields.listing(answer)
            state.withLock { $0.fields.note(listing) }
            answer = listing.answer
            for name in listing.left {
                console.line("The tool \(name.printable) is left out: its x-mcp-header is not possible.")
            }
        }
        await write(answer.line)
    }

    func write(_ line: [UInt8]) async {
        do {
            try await output.run {
                // A large message is not copied.
                guard line.count > 64 << 10 else { return try StandardStream.output.write(line + [0x0A]) }
                try StandardStream.output.write(line)
                try StandardStream.output.write([0x0A])
            }
        } catch {
            ended.finish(.failure(error))
        }
    }
}

extension HTTPResponse {
    /// The type of the body, without parameters.
    var mediaType: String {
        let type = headerFields[.contentType]?.split(separator: ";").first ?? ""
        return type.trimmingPrefix { $0 == " " }.split(separator: " ").first?.lowercased() ?? ""
    }
}

extension [UInt8] {
    /// The text of a body without the byte order mark that its sender may have added.
    var withoutMark: [UInt8] { starts(with: [0xEF, 0xBB, 0xBF]) ? Array(dropFirst(3)) : self }
}
