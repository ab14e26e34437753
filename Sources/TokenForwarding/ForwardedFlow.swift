// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import LoopbackHTTP
import SystemSupport

/// One request on its way to the server, and its answer on its way back, both at once.
///
/// Bytes are read only as fast as they are written. One `poll` waits for both ends.
final class ForwardedFlow {
    /// The answer cannot be finished: the client's connection is reset.
    private struct Cut: Error {}

    private let request: ForwardedRequest
    private let connection: ForwardedConnection
    private let forwarder: Forwarder
    private let begun = ContinuousClock.now
    private var lastMove = ContinuousClock.now
    private var (sentBytes, receivedBytes) = (0, 0)

    // The request
    private var token = ""
    private var channel: UpstreamChannel?
    private var body: BodyFraming
    /// The body as far as it has come, for a repetition; `nil` if that is more than is kept.
    private var kept: [UInt8]? = []
    /// The part of it that went to the server.
    private var replayed = 0
    private var isQueued = false
    private var (hasRenewed, hasRepeated) = (false, false)

    // The answer
    private var parser = HeadParser(.answer)
    private var interimAnswers = 0
    private var answer: ForwardedAnswer?
    private var answerBody = BodyFraming(.bytes(0))
    private var isAnswered = false
    /// Whether the server's end may have bytes without being readable.
    private var isReadable = false
    /// How the server's end has ended, for each direction.
    private var (upstreamEnd, isSendingOver): (UpstreamChannel.Transfer?, Bool) = (nil, false)

    private static let (mostInterimAnswers, framingRoom) = (16, 32)

    init(_ request: ForwardedRequest, on connection: ForwardedConnection) {
        self.request = request
        self.connection = connection
        forwarder = connection.forwarder
        body = BodyFraming(request.length)
    }

    /// - Returns: Whether the client's connection may take another request.
    func run() -> Bool {
        var entry = ForwardedExchange(route: forwarder.rules.route.name, method: request.method, path: request.path)
        var keeps = false
        do {
            try begin()
            while try !move() {}
            // After an early answer nothing tells where the next request begins.
            keeps = request.keepsAlive && answer?.closes == false && body.isComplete
            if !keeps { connection.linger() }
        } catch let error as ForwardingProblem where answer == nil {
            endUpstream()
            entry.problem = error
            connection.refuse(error, request.method)
        } catch {
            connection.reset()
        }
        endUpstream()
        forget()
        if let answer { entry.status = answer.status }
        (entry.sent, entry.received, entry.time) = (sentBytes, receivedBytes, ContinuousClock.now - begun)
        forwarder.note(entry)
        return keeps
    }

    private func begin() throws(ForwardingProblem) {
        token = try forwarder.desk.token(for: TokenWish(begun: begun))
        if request.waitsForContinue { connection.toClient.append(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)) }
        try connect(isFresh: false)
    }

    /// Begins with a connection, or begins again with another one.
    private func connect(isFresh: Bool) throws(ForwardingProblem) {
        endUpstream()
        let head = try forwarder.rules.head(of: request, token: token)
        guard head.count <= connection.toUpstream.room else { throw ForwardingProblem(MessageProblem.longHead) }
        connection.toUpstream.append(head)
        (replayed, isQueued) = (0, false)
        (parser, interimAnswers) = (HeadParser(.answer), 0)
        (isReadable, upstreamEnd, isSendingOver) = (false, nil, false)
        channel = try forwarder.pool.channel(connection.channel.take(), isFresh: isFresh, &connection.fromUpstream)
        lastMove = .now
    }

    private func endUpstream() {
        channel = nil
        connection.toUpstream.clear()
        connection.fromUpstream.clear()
    }

    /// Moves what can be moved, and waits for more.
    /// - Returns: Whether the answer is with the client.
    private func move() throws -> Bool {
        try queueBody()
        sendUp()
        receiveDown()
        try passAnswer()
        guard connection.send() else { throw Cut() }
        if isAnswered, connection.toClient.isEmpty { return true }
        try wait()
        return false
    }
}

// The request
extension ForwardedFlow {
    /// Moves the body from the client to the server's queue, and keeps it.
    private func queueBody() throws(ForwardingProblem) {
        guard channel != nil, !isSendingOver, !isQueued else { return }
        if let kept, replayed < kept.count {
            let count = min(kept.count - replayed, connection.toUpstream.room - Self.framingRoom)
            guard count > 0 else { return }
            append(
                kept.span.extracting(replayed..<replayed + count),
                chunked: request.length == .chunked,
                to: &connection.toUpstream
            )
            replayed += count
        }
        while !body.isComplete, !connection.fromClient.isEmpty, connection.toUpstream.room > Self.framingRoom {
            guard replayed == kept?.count ?? replayed else { return }
            let room = connection.toUpstream.room - Self.framingRoom
            do throws(MessageProblem) {
                let piece = try connection.fromClient.withSpan(atMost: room) { bytes throws(MessageProblem) in
                    let piece = try body.next(in: bytes)
                    let content = bytes.extracting(piece.content)
                    append(content, chunked: request.length == .chunked, to: &connection.toUpstream)
                    keep(content)
                    return piece
                }
                connection.fromClient.drop(piece.end)
                sentBytes += piece.content.count
            } catch { throw ForwardingProblem(error) }
        }
        guard body.isComplete, replayed == kept?.count ?? replayed, connection.toUpstream.room > Self.framingRoom else {
            return
        }
        if request.length == .chunked { connection.toUpstream.append(Array("0\r\n\r\n".utf8)) }
        isQueued = true
    }

    private func keep(_ content: Span<UInt8>) {
        guard let count = kept?.count else { return }
        guard count + content.count <= forwarder.limits.body, forwarder.keep(content.count) else { return forget() }
        unsafe content.withUnsafeBytes { unsafe kept?.append(contentsOf: $0) }
        replayed += content.count
    }

    /// Overwrites what is kept of the body.
    private func forget() {
        guard let count = kept?.count else { return }
        for index in 0..<count { kept?[index] = 0 }
        kept = nil
        if count > 0 { _ = forwarder.keep(-count) }
    }

    /// Adds a part of a body as it is, or as a chunk.
    private func append(_ content: Span<UInt8>, chunked: Bool, to queue: inout ByteQueue) {
        guard content.count > 0 else { return }
        if chunked { queue.append(Array("\(String(content.count, radix: 16))\r\n".utf8)) }
        queue.append(content)
        if chunked { queue.append([0x0D, 0x0A]) }
    }

    private func sendUp() {
        while let channel, !isSendingOver, !connection.toUpstream.isEmpty {
            switch channel.send(&connection.toUpstream) {
            case .bytes: lastMove = .now
            case .wouldBlock: return
            case .ended, .broken:
                // The server may have answered before it ended.
                isSendingOver = true
                isReadable = true
                connection.toUpstream.clear()
            }
        }
    }
}

// The answer
extension ForwardedFlow {
    private func receiveDown() {
        guard let channel, isReadable, upstreamEnd == nil, connection.fromUpstream.room > 0 else { return }
        switch channel.receive(&connection.fromUpstream) {
        case .bytes: lastMove = .now
        case .wouldBlock: isReadable = false
        case let end: upstreamEnd = end
        }
    }

    private func passAnswer() throws {
        while answer == nil, !connection.fromUpstream.isEmpty {
            guard let head = try readHead() else { break }
            guard case .answer(let status, _) = head.start else { throw ForwardingRules.badAnswer }
            if (100..<200).contains(status), status != 101 {
                interimAnswers += 1
                guard interimAnswers <= Self.mostInterimAnswers else { throw ForwardingRules.badAnswer }
                continue
            }
            let isRefused = forwarder.rules.route.renewsOn.contains(status)
            if isRefused, try renew(head) { return }
            let answer = try forwarder.rules.answer(head, to: request, isRefused: isRefused)
            guard answer.head.count <= connection.toClient.room else { throw ForwardingRules.badAnswer }
            connection.toClient.append(answer.head)
            answerBody = BodyFraming(answer.length)
            self.answer = answer
        }
        guard let answer else { return try upstreamEnd == nil ? () : endWithoutAnswer() }
        try passBody(answer)
    }

    private func readHead() throws(ForwardingProblem) -> MessageHead? {
        do throws(MessageProblem) {
            let found = try connection.fromUpstream.withSpan { bytes throws(MessageProblem) in try parser.parse(bytes) }
            guard let (head, length) = found else {
                connection.fromUpstream.compact()
                return nil
            }
            connection.fromUpstream.drop(length)
            parser = HeadParser(.answer)
            return head
        } catch { throw ForwardingRules.badAnswer }
    }

    private func passBody(_ answer: ForwardedAnswer) throws {
        guard !isAnswered else { return }
        while !answerBody.isComplete, !connection.fromUpstream.isEmpty, connection.toClient.room > Self.framingRoom {
            let room = connection.toClient.room - Self.framingRoom
            let piece = try connection.fromUpstream.withSpan(atMost: room) { bytes throws(MessageProblem) in
                let piece = try answerBody.next(in: bytes)
                append(bytes.extracting(piece.content), chunked: answer.hasChunks, to: &connection.toClient)
                return piece
            }
            connection.fromUpstream.drop(piece.end)
            receivedBytes += piece.content.count
        }
        let isOver = upstreamEnd != nil && connection.fromUpstream.isEmpty
        if case .ended = upstreamEnd, isOver, answerBody.endsWithConnection {
            try finish(answer)
        } else if answerBody.isComplete {
            try finish(answer)
        } else if isOver {
            throw Cut()
        }
    }

    /// Ends the client's body, and gives the server's connection back if it is at the end of the answer.
    private func finish(_ answer: ForwardedAnswer) throws {
        guard connection.toClient.room > Self.framingRoom else { return }
        if answer.hasChunks { connection.toClient.append(Array("0\r\n\r\n".utf8)) }
        isAnswered = true
        let isAtEnd = answer.keepsUpstream && connection.fromUpstream.isEmpty && upstreamEnd == nil && !isSendingOver
        if isAtEnd, isQueued, connection.toUpstream.isEmpty {
            channel?.rest()
            connection.channel = channel
        }
        endUpstream()
    }

    /// Begins again with a token that the server has not refused.
    /// - Returns: Whether it did.
    private func renew(_ refusal: MessageHead) throws(ForwardingProblem) -> Bool {
        guard !hasRenewed else { return false }
        hasRenewed = true
        var wish = TokenWish(begun: begun)
        wish.refused = token
        wish.challenges = refusal.values(of: "www-authenticate")
        let fresh = try forwarder.desk.token(for: wish)
        guard fresh != token else { return false }
        guard kept != nil else {
            throw ForwardingProblem(
                .tokenRenewed,
                "The token was renewed, and the request is too long to be sent again. Send it again."
            )
        }
        token = fresh
        try connect(isFresh: false)
        return true
    }

    /// A server may end a connection that waited just when a request comes. It may have read the request.
    private func endWithoutAnswer() throws(ForwardingProblem) {
        let isUntouched = connection.fromUpstream.isEmpty && interimAnswers == 0
        if isUntouched, !hasRepeated, channel?.isReused == true, request.isIdempotent, kept != nil {
            hasRepeated = true
            return try connect(isFresh: true)
        }
        guard request.isIdempotent else {
            throw ForwardingProblem(
                .unknownWhetherDone,
                "The server ended the connection without an answer. It may have done what was asked: look before you repeat it."
            )
        }
        throw ForwardingProblem(.upstreamBadAnswer, "The server ended the connection without an answer. Try again.")
    }
}

// Both
extension ForwardedFlow {
    /// Waits for either end, and takes what the client has sent.
    private func wait() throws {
        let wantsBody = !body.isComplete && !isAnswered && connection.fromClient.room > 0
        var client = ForwardedConnection.hangUp
        if wantsBody { client |= POLLIN }
        if !connection.toClient.isEmpty { client |= POLLOUT }
        var awaited = [Poll.Awaited(connection.socket.raw, client)]
        if let channel, upstreamEnd == nil {
            var events: Int32 = 0
            if !isReadable, connection.fromUpstream.room > 0 { events |= POLLIN }
            if !connection.toUpstream.isEmpty { events |= POLLOUT }
            if events != 0 { awaited.append(Poll.Awaited(channel.descriptor, events)) }
        }
        let deadline = lastMove + (answer == nil ? forwarder.limits.answer : forwarder.limits.stall)
        let ready = Poll.wait(for: awaited, until: canMove ? .now : deadline)
        if ready.count > 1, ready[1] & ~POLLOUT != 0 { isReadable = true }
        if wantsBody, ready[0] & POLLIN != 0 {
            connection.fromClient.compact()
            guard connection.receive() else { throw Cut() }
            lastMove = .now
        } else if ready[0] & ~(POLLIN | POLLOUT) != 0 {
            throw Cut()  // The server need not go on with what nobody waits for.
        }
        if ready[0] & POLLOUT != 0 { lastMove = .now }
        guard ContinuousClock.now >= deadline else { return }
        guard answer == nil, body.isComplete else { throw Cut() }
        throw ForwardingProblem(.upstreamSlow, "The server has not answered in time.")
    }

    /// Whether there is something to do without waiting.
    private var canMove: Bool {
        if isReadable, upstreamEnd == nil, connection.fromUpstream.room > 0 { return true }
        let hasBody =
            replayed < kept?.count ?? 0 || !body.isComplete && !connection.fromClient.isEmpty || body.isComplete
        if channel != nil, !isQueued, !isSendingOver, hasBody, connection.toUpstream.isEmpty { return true }
        return answer != nil && !isAnswered && !connection.fromUpstream.isEmpty && connection.toClient.isEmpty
    }
}
