// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import IdentityClient
import IdentityResources
import OAuthWire
import Synchronization
import SystemSupport

/// The streams of a server: that of an answer, which is resumed where it broke, and that of the server's own messages.
extension MCPBridge {
    /// As often in a row as a broken stream is not opened again in vain. A server that closes its streams to be asked again is
    /// asked as long as it answers.
    private static let maximumFailures = 5
    private static let pause = (
        shortest: Duration.milliseconds(50), first: Duration.seconds(1), longest: Duration.seconds(60)
    )

    /// Writes the messages of a stream until the request's answer.
    ///
    /// - Parameter resumes: Whether the revision lets a broken stream be resumed.
    func follow(_ body: ResponseBody, for request: MCPMessage, resumes: Bool) async throws {
        var (body, events) = (body, EventStream())
        var skipped: MCPMessage.Problem?
        while true {
            do {
                for try await piece in body {
                    var isAnswered = false
                    for event in events.add(piece) {
                        isAnswered = try await pass(event, to: request, &skipped) || isAnswered
                    }
                    guard isAnswered else { continue }
                    // The connection can be used again if the stream ends now.
                    let rest = body
                    return (try? await withDeadline(.seconds(1)) { for try await _ in rest {} }) ?? ()
                }
            } catch let error as AuthenticationError where .network ~= error.code {}
            guard let resumed = try await resume(events, resumes) else {
                throw MCPMessage.Problem(
                    "The connection broke before the answer. Whether the server did what was asked is not known."
                        + (skipped.map { " An event was skipped: \($0)" } ?? "")
                )
            }
            body = resumed
            events = EventStream(from: events.lastEventID, retry: events.retry)
        }
    }

    /// Writes the message of an event. An event that is none is skipped, and the person sees a warning of the first one.
    ///
    /// - Parameters:
    ///   - request: The request whose stream brought it; `nil` for the server's own stream.
    ///   - skipped: The fault of an event of this stream.
    /// - Returns: Whether it is the request's answer.
    /// - Throws: `MCPMessage.Problem` for an answer that cannot be passed on.
    private func pass(
        _ event: EventStream.Event,
        to request: MCPMessage?,
        _ skipped: inout MCPMessage.Problem?
    ) async throws -> Bool {
        do {
            guard case .message(let text) = event else { throw MCPMessage.Problem.tooLarge }
            return try await deliver(MCPMessage(text), to: request)
        } catch let problem as MCPMessage.Problem {
            let isAnswer =
                switch event {
                case .message(let text): request.map { MCPMessage.id(inBeginningOf: text) == $0.id } ?? false
                case .tooLarge: request != nil
                }
            guard !isAnswer else { throw problem }
            if skipped == nil { console.line("An event of the server's is skipped. \(problem)") }
            skipped = problem
            return false
        }
    }

    /// Opens a broken stream again after its last event; `nil` if the server offers no way.
    private func resume(_ events: EventStream, _ isPossible: Bool) async throws -> ResponseBody? {
        guard isPossible, let last = events.lastEventID else { return nil }
        for _ in 0..<Self.maximumFailures {
            try await Task.sleep(for: max(events.retry ?? Self.pause.first, Self.pause.shortest))
            var request = request(.get)
            request.headerFields[.lastEventID] = last
            do {
                let (response, body) = try await access.stream(request)
                switch response.status.kind {
                case .successful: return response.mediaType == "text/event-stream" ? body : nil
                case .serverError: break
                default: guard response.status == .tooManyRequests else { return nil }
                }
            } catch let error as AuthenticationError where .network ~= error.code {}
        }
        return nil
    }

    /// Receives the server's own messages from now on, if it has such a stream.
    func listen() {
        let task = Task { await listenToTheServer() }
        let before = state.withLock { state in
            defer { state.listening = task }
            return state.listening
        }
        before?.cancel()
    }

    private func listenToTheServer() async {
        var (events, pause) = (EventStream(), Self.pause.first)
        var skipped: MCPMessage.Problem?
        while !Task.isCancelled {
            do {
                var request = request(.get)
                if let last = events.lastEventID { request.headerFields[.lastEventID] = last }
                // A lost sign-in is for the next message of the host to tell.
                let (response, body) = try await access.stream(request, asks: false)
                switch response.status.kind {
                case .successful where response.mediaType == "text/event-stream":
                    events = EventStream(from: events.lastEventID, retry: events.retry)
                    for try await piece in body {
                        for event in events.add(piece) {
                            pause = Self.pause.first
                            _ = try await pass(event, to: nil, &skipped)
                        }
                    }
                case .serverError: break
                default:
                    guard response.status == .tooManyRequests else { return }  // there is none
                }
            } catch is CancellationError {
                return
            } catch {}  // the network, or a sign-in: tried again
            try? await Task.sleep(for: max(events.retry ?? .zero, pause))
            pause = min(pause * 2, Self.pause.longest)
        }
    }
}
