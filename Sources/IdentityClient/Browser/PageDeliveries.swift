// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The program's pages that the browser does not have yet.
final class PageDeliveries: Sendable {
    private struct State {
        var underway: Set<UInt64> = []
        /// The pages for which the browser was redirected.
        var redirected: Set<UInt64> = []
        /// Finishes when all deliveries have ended, if a caller waits.
        var end: Promise<Void>?
    }

    private let state = Mutex(State())

    func begin(_ pages: some Sequence<UInt64>) {
        state.withLock { $0.underway.formUnion(pages) }
    }

    /// The browser was redirected to that page.
    func redirect(_ page: UInt64) {
        state.withLock { _ = $0.redirected.insert(page) }
    }

    /// The browser has that page, or is gone.
    func end(_ page: UInt64) {
        end([page])
    }

    /// The browser has fetched the page to which it was redirected.
    func endAllRedirected() {
        end(state.withLock { $0.redirected })
    }

    private func end(_ pages: Set<UInt64>) {
        let end = state.withLock { state -> Promise<Void>? in
            state.underway.subtract(pages)
            guard state.underway.isEmpty else { return nil }
            defer { state.end = nil }
            return state.end
        }
        end?.finish(.success(()))
    }

    /// Returns when all deliveries have ended, after `timeout`, or when the task is cancelled.
    func ended(within timeout: Duration) async {
        let end = state.withLock { state -> Promise<Void>? in
            guard !state.underway.isEmpty else { return nil }
            let end = state.end ?? Promise()
            state.end = end
            return end
        }
        guard let end else { return }
        // After a time-out or a cancellation the caller goes on.
        try? await withDeadline(timeout) { try await end.value() }
    }
}
