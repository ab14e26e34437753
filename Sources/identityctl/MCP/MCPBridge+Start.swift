// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import IdentityClient
import IdentityResources
import OAuthWire
import Synchronization
import SystemSupport

/// The first messages of a host, which waits for none of them: they are answered at once from what is remembered, or where no
/// account is signed in, and else by the server within a time that no host is too short for.
extension MCPBridge {
    /// Hosts give a start 30 s and more.
    private static let patience = Duration.seconds(20)

    /// The host's knowledge of the server, and its source.
    struct Start {
        /// The revision that the host asked for first, up to 2025-11-25.
        var revision: String?
        /// The methods of the first messages so far.
        var asked: Set<String> = []
        /// The answers to first messages that the host has, by methods: some hosts try `server/discover` before `initialize`.
        var first: [String: MCPMessage] = [:]
        /// A number for each list that the host has, which is another one for another list.
        var lists: [String: Int] = [:]
        /// Whether the host has an answer that the server did not give now, so that no session has begun.
        var isAhead = false
        /// The request for the tools that was answered with that of ``MCPSignInTool``.
        var unlisted: MCPMessage?
        /// Why the host has to begin anew.
        var outdated: MCPMessage.Problem?
    }

    /// Answers one of a host's first messages.
    func answerFirst(_ message: MCPMessage, _ method: String, _ version: String?) async throws {
        if method == "initialize" {
            let revision = try message.members.members("params")?.value("protocolVersion")?.string
            state.withLock { state in
                state.initialize = message
                (state.start.revision, state.start.outdated) = (revision, nil)
            }
            access.offer.begin(message) { await self.write($0) }
        }
        let isFirst = state.withLock { $0.start.asked.insert(method).inserted }
        if isFirst, let kept = await remembered(message, version) {
            try await tellAhead(kept, to: message)
            return try await method == "initialize" ? catchUp(asks: false) : exchange(message, version, asks: false)
        }
        do {
            guard isFirst else { return try await exchange(message, version, asks: false) }
            try await withDeadline(Self.patience) { try await self.exchange(message, version, asks: false) }
        } catch let error as AuthenticationError where .interactionRequired ~= error.code {
            if !isFirst, let kept = await remembered(message, version) {
                return try await tellAhead(kept, to: message)
            }
            guard let own = tool.answer(to: message, version) else { throw error }
            try await tellAhead(own, to: message, isOwn: true)
        } catch is DeadlineExceeded {
            throw MCPMessage.Problem(
                "The server did not answer within 20 s. Start it anew in this program when it does."
            )
        }
    }

    private func remembered(_ message: MCPMessage, _ version: String?) async -> MCPMessage? {
        guard let revision = version ?? state.withLock(\.start.revision) else { return nil }
        return await memory.answer(to: message, revision)
    }

    /// Gives the host an answer that the server did not give now.
    private func tellAhead(_ answer: MCPMessage, to message: MCPMessage, isOwn: Bool = false) async throws {
        guard let departure = MCPDeparture.current, departure.claimAnswer() else { return }
        state.withLock { state in
            if message.method == "initialize" { state.start.isAhead = true }
            if message.method == "tools/list" { state.start.unlisted = isOwn ? message : nil }
            state.start.note(answer, to: message)
        }
        try await tell(answer, to: message)
        departure.gate.finish(.success(()))
    }

    /// Notes what the server answers to a first message, or to the request for a list.
    ///
    /// - Parameter isFirst: Whether the host has it. If not, it has another answer, and learns what has changed.
    func note(_ answer: MCPMessage, to message: MCPMessage, isFirst: Bool) async throws {
        guard MCPMemory.keeps(message), let method = message.method else { return }
        let version = try MCPFields.version(of: message)
        if isFirst {
            return state.withLock { state in
                if method == "tools/list" { state.start.unlisted = nil }
                state.start.note(answer, to: message)
            }
        }
        guard let changed = MCPMemory.lists[method] else {
            return try state.withLock { state in
                guard let told = state.start.first[method], let problem = try answer.problem(forHostWith: told, version)
                else { return }
                state.start.outdated = problem
            }
        }
        // Later revisions tell of changes on a stream that the host asks for.
        let isNews = state.withLock { $0.start.note(answer, to: message) } && version == nil
        if isNews { await write(MCPMessage.notification(changed)) }
    }

    /// Keeps an answer of the server for the next start.
    func remember(_ answer: MCPMessage, to message: MCPMessage) async {
        guard MCPMemory.keeps(message),
            let revision = (try? MCPFields.version(of: message)) ?? state.withLock(\.start.revision)
        else { return }
        await memory.note(answer, to: message, revision)
    }

    /// Signs in for a call of the tool that stands for the server's own.
    ///
    /// - Parameter list: The request that waits for the server's tools.
    func signIn(_ message: MCPMessage, _ list: MCPMessage, _ version: String?) async throws {
        // The host has its answer to that.
        let departure = MCPDeparture()
        _ = departure.claimAnswer()
        var problem: String?
        do {
            try await MCPDeparture.$current.withValue(departure) { try await exchange(list, version, asks: true) }
        } catch {
            guard !Task.isCancelled else { throw error }
            problem = explain(error)
        }
        guard MCPDeparture.current?.claimAnswer() != false else { return }
        await write(tool.answer(toCall: message, version, problem: problem))
    }
}

/// The session that the first messages begin.
extension MCPBridge {
    /// Begins the session of a host that has an answer to its first message already.
    func catchUp(asks: Bool) async throws {
        guard state.withLock(\.start.isAhead) else { return }
        do {
            try await renew(Renewal(forgotten: nil, asks: false))
        } catch let error as AuthenticationError where asks && .interactionRequired ~= error.code {
            try await renew(Renewal(forgotten: nil, asks: true))
        }
    }

    /// Keeps a notification back that the session begins with, if no session has begun.
    func holdsBack(_ message: MCPMessage) -> Bool {
        guard message.method == "notifications/initialized" else { return false }
        return state.withLock { state in
            state.initialized = message
            return state.start.isAhead
        }
    }

    func renew(_ renewal: Renewal) async throws {
        try await renewals.run(renewal) { [self] in
            // What the message that waits for this has to say about its own way does not hold for this one.
            try await MCPDeparture.$current.withValue(nil) { try await beginSession(renewal) }
        }
    }

    /// Begins a session: the first one, or one in place of one that the server has forgotten.
    private func beginSession(_ renewal: Renewal) async throws {
        let isWanted = { @Sendable (state: State) in
            state.sessionID == renewal.forgotten && (renewal.forgotten != nil || state.start.isAhead)
        }
        guard let first = state.withLock({ isWanted($0) ? $0.initialize : nil }) else { return }
        let (response, body) = try await access.stream(request(.post, in: [:]), body: first.line, asks: renewal.asks)
        guard response.status.kind == .successful else { throw await refusal(response, body) }
        guard let answer = try await answer(in: body, response) else {
            throw MCPMessage.Problem("The server took the request, and gave no answer.")
        }
        await remember(answer, to: first)
        try await note(answer, to: first, isFirst: false)
        if let outdated = state.withLock(\.start.outdated) { throw outdated }
        if case .object(let error)? = try answer.members.value("error") {
            let words = error.string("message") ?? ""
            throw MCPMessage.Problem("The server begins no session now: \(words.printable)")
        }
        guard state.withLock({ isWanted($0) }) else { return }
        try adopt(response)
        let second = state.withLock { state in
            state.start.isAhead = false
            return state.initialized
        }
        guard let second else { return }
        _ = try await access.stream(request(.post), body: second.line, asks: renewal.asks)
        listen()
    }

    /// Returns the answer to a message that the host did not send now.
    private func answer(in body: ResponseBody, _ response: HTTPResponse) async throws -> MCPMessage? {
        guard response.mediaType == "text/event-stream" else { return try MCPMessage(await Self.whole(response, body)) }
        var events = EventStream()
        for try await piece in body {
            for event in events.add(piece) {
                guard case .message(let text) = event else { throw MCPMessage.Problem.tooLarge }
                if let message = try? MCPMessage(text), message.isAnswer { return message }
            }
        }
        return nil
    }
}

extension MCPBridge.Start {
    /// Notes the answer that a host has.
    ///
    /// - Returns: Whether it is another list than the host had.
    @discardableResult
    fileprivate mutating func note(_ answer: MCPMessage, to message: MCPMessage) -> Bool {
        guard let method = message.method else { return false }
        guard MCPMemory.lists[method] != nil else {
            first[method] = answer
            return false
        }
        guard let place = answer.members.places["result"] else { return false }
        let list = answer.line[place].hashValue
        defer { lists[method] = list }
        return lists[method].map { $0 != list } ?? false
    }
}
