// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The pages that the program has given and the browser does not have yet.
final class PageDeliveries: Sendable {
    private typealias Waiter = CheckedContinuation<Void, Never>

    private struct State {
        var underway: Set<UInt64> = []
        /// Those that the browser was sent elsewhere for.
        var redirected: Set<UInt64> = []
        var waiters: [(id: UInt64, continuation: Waiter)] = []
        var lastID: UInt64 = 0
    }

    private let state = Mutex(State())

    func begin(_ pages: some Sequence<UInt64>) {
        state.withLock { $0.underway.formUnion(pages) }
    }

    /// The browser knows where to fetch that page.
    func redirect(_ page: UInt64) {
        state.withLock { _ = $0.redirected.insert(page) }
    }

    /// The browser has that page, or is gone.
    func end(_ page: UInt64) {
        end([page])
    }

    /// The browser has fetched the page that it was sent elsewhere for.
    func endAllRedirected() {
        end(state.withLock { $0.redirected })
    }

    private func end(_ pages: Set<UInt64>) {
        let waiters = state.withLock { state in
            state.underway.subtract(pages)
            guard state.underway.isEmpty else { return [Waiter]() }
            defer { state.waiters = [] }
            return state.waiters.map(\.continuation)
        }
        for waiter in waiters { waiter.resume() }
    }

    /// Returns when all have ended, after `patience`, or when the task is cancelled.
    func ended(within patience: Duration) async {
        guard !Task.isCancelled else { return }
        await withTaskGroup { group in
            group.addTask { await self.ended() }
            // It ends early by being cancelled only.
            group.addTask { try? await Task.sleep(for: patience) }
            await group.next()
            group.cancelAll()
        }
    }

    private func ended() async {
        let id = state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let isDone = state.withLock { state in
                    guard !state.underway.isEmpty, !Task.isCancelled else { return true }
                    state.waiters.append((id, waiter))
                    return false
                }
                if isDone { waiter.resume() }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                state.waiters.firstIndex { $0.id == id }.map { state.waiters.remove(at: $0).continuation }
            }
            waiter?.resume()
        }
    }
}
