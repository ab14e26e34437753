// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The pauses during which this process sends no refresh.
///
/// - A server that asks to wait (`Retry-After`) is obeyed, for an hour at most.
/// - After five refusals of the same request within a minute, the request is not sent for a minute. Another refresh
///   token or a new sign-in makes it a different request. A failure that never reached the server does not count, so
///   that a program continues at once when it is online again.
/// - If the early renewal of a valid token fails, it is not tried again for a minute.
final class RefreshThrottling: Sendable {
    /// The subject of a pause.
    enum Subject: Hashable {
        /// A request that the server does not accept for now.
        case server(String)
        /// A request with its refresh token, which the server refuses.
        case refusals(String)
        /// The early renewal of a credential.
        case renewal(CacheKey)
    }

    /// Up to five times at which a subject failed, and the length of the pause after them, in seconds.
    private struct Entry {
        var times: [Int64]
        var pause: Int64
        var error: AuthenticationError?

        /// Returns the seconds that are left. A clock that was set back does not make the pause longer.
        func remaining(of subject: Subject, at now: Int64) -> Int64? {
            guard let last = times.last else { return nil }
            let maximum = if case .server = subject { ServerWait.maximum } else { pause }
            let remaining = last + pause - now
            return remaining > 0 && remaining <= maximum ? remaining : nil
        }
    }

    private let entries = Mutex<[Subject: Entry]>([:])
    private static let maximumRefusals = 5
    /// The length of a pause, in seconds.
    private static let pause: Int64 = 60

    /// Returns whether a valid token may be renewed early.
    func mayRenew(_ key: CacheKey, at now: Int64) -> Bool {
        failedRenewal(key, at: now) == nil
    }

    /// Returns the error of the renewal that failed within the last minute.
    func failedRenewal(_ key: CacheKey, at now: Int64) -> AuthenticationError? {
        entry(.renewal(key), at: now)?.0.error
    }

    func renewalFailed(_ key: CacheKey, _ error: AuthenticationError, at now: Int64) {
        entries.withLock { $0[.renewal(key)] = Entry(times: [now], pause: Self.pause, error: error) }
    }

    /// - Throws: `.throttled` while the server accepts no such request.
    func checkWait(for request: String, at now: Int64, context: RequestContext) throws {
        guard let (_, remaining) = entry(.server(request), at: now) else { return }
        throw context.error(
            .throttled,
            "The server asked to wait. Try again in \(remaining) s.",
            retryAfter: .seconds(remaining)
        )
    }

    /// - Throws: After five refusals in a minute, an error with the last refusal as its underlying error. Its code is
    ///   that of the refusal if a person or the configuration can resolve it, otherwise `.requestLoop`.
    func checkRefusals(of request: String, at now: Int64, context: RequestContext) throws {
        guard let (entry, remaining) = entry(.refusals(request), at: now), let error = entry.error,
            entry.times.count >= Self.maximumRefusals, let first = entry.times.first, let last = entry.times.last,
            last - first <= Self.pause
        else { return }
        let isToBeChanged = .interactionRequired ~= error.code || .configuration ~= error.code
        throw context.error(
            isToBeChanged ? error.code : .requestLoop,
            "The server refused this request \(Self.maximumRefusals) times in a minute; it is not sent again for "
                + "\(remaining) s. The last answer: \(error.message)",
            serverError: error.serverError,
            claims: error.claims,
            retryAfter: .seconds(remaining),
            underlyingError: error
        )
    }

    /// Records an error of a request, both for the request and for the request with its refresh token.
    func note(_ error: AuthenticationError, for request: String, _ refusals: String, at now: Int64) {
        entries.withLock { entries in
            if let wait = error.retryAfter {
                let pause = min(wait.components.seconds, ServerWait.maximum)
                entries[.server(request)] = Entry(times: [now], pause: pause)
            }
            guard error.isTheServersAnswer else { return }
            let times = (entries[.refusals(refusals)]?.times ?? []) + [now]
            entries[.refusals(refusals)] = Entry(
                times: times.suffix(Self.maximumRefusals),
                pause: Self.pause,
                error: error
            )
        }
    }

    /// Moves the refusals to the name of the request with another refresh token.
    func moveRefusals(from request: String, to other: String) {
        entries.withLock { entries in
            if let known = entries.removeValue(forKey: .refusals(request)) { entries[.refusals(other)] = known }
        }
    }

    func forgetRefusals(of request: String) {
        entries.withLock { $0[.refusals(request)] = nil }
    }

    private func entry(_ subject: Subject, at now: Int64) -> (Entry, remaining: Int64)? {
        entries.withLock { entries in
            entries = entries.filter { $0.value.remaining(of: $0.key, at: now) != nil }
            guard let entry = entries[subject], let remaining = entry.remaining(of: subject, at: now) else {
                return nil
            }
            return (entry, remaining)
        }
    }
}

extension AuthenticationError {
    /// Whether the server would give the same answer again.
    fileprivate var isTheServersAnswer: Bool {
        guard code != .accountRemoved, code != .requestLoop else { return false }
        let families: [Code] = [.interactionRequired, .serverUnavailable, .invalidResponse, .configuration]
        return families.contains { $0 ~= code }
    }
}

extension SilentRequest {
    /// The key of the record that tells the other processes how long the server accepts no such request.
    func waitKey(_ store: CredentialStore) -> CacheKey {
        let name = Digest.hexadecimal(of: ["retry-after", store.key(for: id).name, throttleKey])
        return CacheKey(group: store.group, kind: .lease, name: name)
    }
}
