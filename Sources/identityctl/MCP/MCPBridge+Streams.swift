// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import IdentityClient
import IdentityResources
import OAuthWire
import Synchronization
import SystemSupport

/// The streams of a server: that of an answer, which is resumed where it broke, and that of the server's own messages.
extension MCPBridge {
    /// As often as a broken stream is resumed without an event.
    private static let maximumResumptions = 5
    private static let pause = (first: Duration.seconds(1), longest: Duration.seconds(60))

    /// Writes the messages of a stream until the request's answer.
    ///
    /// - Parameter resumes: Whether the revision lets a broken stream be resumed.
    func follow(_ body: ResponseBody, for request: MCPMessage, resumes: Bool) async throws {
        var (body, events, attempts) = (body, EventStream(), 0)
        while true {
            do {
                for try await piece in body {
                    var isAnswered = false
                    for event in try events.add(piece) {
                        attempts = 0
                        isAnswered = try await deliver(MCPMessage(event), to: request) || isAnswered
                    }
                    guard isAnswered else { continue }
                    // The connection can be used again if the stream ends now.
                    let rest = body
                    return (try? await withDeadline(.seconds(1)) { for try await _ in rest {} }) ?? ()
                }
            } catch let error as AuthenticationError where .network ~= error.code {}
            let resumed = try await resume(events, resumes, &attempts)
            guard let resumed else {
                throw MCPMessage.Problem(
                    "The connection broke before the answer. Whether the server did what was asked is not known."
                )
            }
            body = resumed
            events = EventStream(from: events.lastEventID, retry: events.retry)
        }
    }

    /// Opens a broken stream again after its last event; `nil` if the server offers no way.
    private func resume(_ events: EventStream, _ isPossible: Bool, _ attempts: inout Int) async throws -> ResponseBody?
    {
        while isPossible, let last = events.lastEventID, attempts < Self.maximumResumptions {
            attempts += 1
            try await Task.sleep(for: events.retry ?? Self.pause.first)
            var request = request(.get)
            request.headerFields[.lastEventID] = last
            do {
                let (response, body) = try await access.stream(request)
                return response.status == .ok && response.mediaType == "text/event-stream" ? body : nil
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
                        for event in try events.add(piece) {
                            pause = Self.pause.first
                            _ = try await deliver(MCPMessage(event), to: nil)
                        }
                    }
                case .serverError: break
                default:
                    guard response.status == .tooManyRequests else { return }  // there is none
                }
            } catch let problem as MCPMessage.Problem {
                console.line("The server's own messages: \(problem)")
            } catch is CancellationError {
                return
            } catch {}  // the network, or a sign-in: tried again
            try? await Task.sleep(for: max(events.retry ?? .zero, pause))
            pause = min(pause * 2, Self.pause.longest)
        }
    }
}
