// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// A wait that a server asked for, and its beginning by the clock of the process that received the answer.
///
/// The wait is shared through the cache with all processes that would send the same request. It is a record of the kind
/// `lease`: small, not synced, and worthless after a crash. Only the server's own `Retry-After` is stored. A refresh
/// continues if the record cannot be read or written.
struct ServerWait: Hashable, Sendable {
    var notedAt: Int64
    var seconds: Int64

    /// The longest wait, in seconds.
    static let maximum: Int64 = 3600

    /// The whole seconds that are left; `nil` when the wait is over.
    ///
    /// A clock that was set back, or the fast clock of another process, does not make the wait longer than it was.
    func remaining(at now: Int64) -> Int64? {
        let left = notedAt + min(seconds, Self.maximum) - now
        return left > 0 && seconds > 0 && notedAt <= now ? left : nil
    }
}

extension ServerWait {
    /// Limits both members, so that no sum of them can overflow: any process that shares the cache can write them.
    init?(_ record: CacheRecord) {
        guard let json = try? JSONObject(parsing: record.bytes),  // a damaged one binds no process
            let notedAt = json.roundedDown("noted_at"), let seconds = json.roundedDown("seconds"),
            (0...253_402_300_799).contains(notedAt)  // to the year 9999
        else { return nil }
        self.init(notedAt: notedAt, seconds: min(max(0, seconds), Self.maximum))
    }

    func encoded() -> CacheRecord {
        var json = JSONObject()
        json["v"] = .integer(1)
        json["noted_at"] = .integer(notedAt)
        json["seconds"] = .integer(seconds)
        return CacheRecord(bytes: json.serialized())
    }

    /// Reads the wait under `key`.
    ///
    /// - Throws: `.throttled` while the server accepts no such request.
    static func check(_ key: CacheKey, in cache: any TokenCache, at now: Int64, context: RequestContext) async throws {
        guard let record = try? await cache.record(for: key) else { return }
        let wait = ServerWait(record)
        guard let seconds = wait?.remaining(at: now) else {
            guard wait.map({ $0.notedAt > now }) != true else { return }  // one of the two clocks is wrong
            _ = try? await cache.replace(record, with: nil, for: key)  // the next process removes it
            return
        }
        throw AuthenticationError(
            .throttled,
            "The server asked another program to wait. Try again in \(seconds) s.",
            retryAfter: .seconds(seconds),
            correlationID: context.correlationID
        )
    }

    /// Stores the wait that `error` asks for, and removes waits that are over.
    static func note(_ error: AuthenticationError, under key: CacheKey, in cache: any TokenCache, at now: Int64) async {
        guard .serverUnavailable ~= error.code, let wait = error.retryAfter, wait > .zero else { return }
        let record = ServerWait(notedAt: now, seconds: wait.components.seconds).encoded()
        // This process also remembers the wait without the cache.
        _ = try? await cache.replace(try? cache.record(for: key), with: record, for: key)
        // Without this, waits for requests that no process repeats would stay forever.
        guard let records = try? await cache.records(of: .lease, in: key.group) else { return }
        for (key, record) in records {
            guard let wait = ServerWait(record), wait.notedAt <= now, wait.remaining(at: now) == nil else { continue }
            _ = try? await cache.replace(record, with: nil, for: key)  // best effort: it binds no process
        }
    }
}
