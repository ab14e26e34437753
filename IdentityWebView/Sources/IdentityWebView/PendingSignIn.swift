// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

#if WebView
import FoundationEssentials
import IdentityClient
import Synchronization

/// One sign-in: its window, the redirects received there, and its outcome.
final class PendingSignIn: Sendable {
    private typealias Receiver = CheckedContinuation<ReceivedRedirect, any Error>

    private struct State {
        var lastID: UInt64 = 0
        /// The redirects that were received and not yet handed on.
        var waiting: [ReceivedRedirect] = []
        var receivers: [(id: UInt64, continuation: Receiver)] = []
        /// The reason why no more redirects will come.
        var end: (any Error)?
        var window: PageWindow?

        mutating func nextID() -> UInt64 {
            lastID += 1
            return lastID
        }
    }

    /// More redirects than any provider sends. Later ones are ignored.
    private static let maximumWaiting = 16

    let redirectURI: URL
    private let state = Mutex(State())

    init(redirectURI: URL) {
        self.redirectURI = redirectURI
    }

    // MARK: The window's side

    /// Accepts the window, unless the sign-in has already ended.
    func attach(_ window: PageWindow) -> Bool {
        state.withLock { state in
            guard state.end == nil, state.window == nil else { return false }
            state.window = window
            return true
        }
    }

    /// Hands on a redirect that a page requested.
    func take(_ url: URL) {
        let (redirect, receiver) = state.withLock { state -> (ReceivedRedirect?, Receiver?) in
            guard state.end == nil, state.waiting.count < Self.maximumWaiting else { return (nil, nil) }
            let redirect = ReceivedRedirect(url: url, id: state.nextID())
            guard state.receivers.isEmpty else { return (redirect, state.receivers.removeFirst().continuation) }
            state.waiting.append(redirect)
            return (redirect, nil)
        }
        if let redirect { receiver?.resume(returning: redirect) }
    }

    /// Ends the sign-in after the person closed the window, or the program closed the window's parent.
    func windowIsGone() {
        end(AuthenticationError(.userCancelled, "The sign-in window was closed before the sign-in was finished."))
    }

    // MARK: The program's side

    func next() async throws -> ReceivedRedirect {
        let id = state.withLock { $0.nextID() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { receiver in
                let result = state.withLock { state -> Result<ReceivedRedirect, any Error>? in
                    guard !Task.isCancelled else { return .failure(CancellationError()) }
                    guard state.waiting.isEmpty else { return .success(state.waiting.removeFirst()) }
                    if let end = state.end { return .failure(end) }
                    state.receivers.append((id, receiver))
                    return nil
                }
                if let result { receiver.resume(with: result) }
            }
        } onCancel: {
            let receiver = state.withLock { state in
                state.receivers.firstIndex { $0.id == id }.map { state.receivers.remove(at: $0).continuation }
            }
            receiver?.resume(throwing: CancellationError())
        }
    }

    /// Shows the window's page again after a redirect that was not the answer.
    func goOn() {
        guard let window = state.withLock({ $0.window }) else { return }
        MainContext.perform { window.goOn() }
    }

    /// Ends the sign-in for good. Closes the window without waiting for that.
    func end(_ reason: any Error) {
        let (window, receivers) = state.withLock { state in
            if state.end == nil { state.end = reason }
            defer { (state.window, state.receivers) = (nil, []) }
            return (state.window, state.receivers)
        }
        for receiver in receivers { receiver.continuation.resume(throwing: reason) }
        if let window { MainContext.perform { window.close() } }
    }
}
#endif
