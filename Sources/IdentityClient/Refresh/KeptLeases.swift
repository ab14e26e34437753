// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The leases of refreshes whose refresh token could not be written, until it is.
///
/// What rests in the cache then is spent already: another process that got the lease would send it again, and the provider
/// would take that for theft. So the write is tried again and again, and the lease renewed meanwhile. The next refresh in
/// this process takes the lease over. Where the lease cannot be renewed either it runs out.
final class KeptLeases: Sendable {
    private let store: CredentialStore
    /// How long a request may take: who takes a lease over can begin with one at once.
    private let request: Duration
    /// Each gives the lease that is still held when it is cancelled.
    private let attempts = Mutex<[RecordID: Task<RefreshLeaseHolder.Held?, Never>]>([:])

    init(store: CredentialStore, request: Duration) {
        self.store = store
        self.request = request
    }

    /// What could not be written is gone with the store, and there is nothing to try any more.
    deinit {
        for attempt in attempts.withLock({ $0 }).values { attempt.cancel() }
    }

    /// Gives a lease back, at once or when everything that its refresh yielded is written.
    func giveBack(_ lease: RefreshLeaseHolder.Held, of id: RecordID) async {
        guard let unsaved = store.unsaved(id) else { return await lease.release() }
        let writing = Writing(store: store, id: id, end: unsaved.end, lease: lease, request: request)
        attempts.withLock { $0[id] = Task { await writing.run() } }
    }

    /// The lease that is kept for the credentials, if one is: whoever takes it gives it back.
    func take(_ id: RecordID) async -> RefreshLeaseHolder.Held? {
        guard let attempt = attempts.withLock({ $0.removeValue(forKey: id) }) else { return nil }
        attempt.cancel()
        return await attempt.value
    }

    /// Waits until the leases of what is written by now are given back.
    func finish() async {
        for (id, attempt) in attempts.withLock({ $0 }) where store.unsaved(id) == nil { _ = await attempt.value }
    }
}

/// Tries to write what one refresh yielded, under its lease.
private struct Writing: Sendable {
    let store: CredentialStore
    let id: RecordID
    /// When there is nothing to write any more.
    let end: Promise<Void>
    let lease: RefreshLeaseHolder.Held
    let request: Duration

    /// - Returns: The lease where it was cancelled; `nil` where it is given back, or another process's.
    func run() async -> RefreshLeaseHolder.Held? {
        var pause = Duration.milliseconds(200)
        while true {
            do {
                try await withDeadline(pause) { try await end.value() }
                break
            } catch is DeadlineExceeded {
                pause = min(pause * 2, .seconds(5))
            } catch {
                return lease
            }
            // A write that was cancelled may be done or not: it is left to its end.
            let isHeld = await Task { await attempt() }.value
            guard isHeld else { return nil }
        }
        await lease.release()
        return nil
    }

    /// Whether the lease is still held.
    private func attempt() async -> Bool {
        do {
            try await store.saveUnsaved(id)
        } catch AuthenticationError.Code.cacheNewerVersion {
            // Never to be written: that program knows better which refresh token counts.
            await lease.release()
            return false
        } catch {}  // who asked for the token was told, and there is a next time
        do {
            return try await lease.isRenewed(toOutlast: request)
        } catch {
            return true  // it counts until it runs out
        }
    }
}
