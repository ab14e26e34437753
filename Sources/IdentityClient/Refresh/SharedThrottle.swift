// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// What the server asked to wait for, kept in the cache for all processes that would ask the same.
///
/// It is a record of the kind `lease`: small, not synced, and worth nothing after a crash. Only the server's own
/// `Retry-After` gets there; that it cannot be read or written hinders no refresh.
struct SharedThrottle: Sendable {
    let environment: FlowEnvironment
    let key: CacheKey

    /// - Throws: `.throttled` while the server wants no such request.
    func check(_ context: RequestContext) async throws {
        guard let record = try? await environment.store.cache.record(for: key) else { return }
        let now = environment.clock.unixSeconds
        let wait = ServerWait(record)
        guard let seconds = wait?.remaining(at: now) else {
            guard wait.map({ $0.notedAt > now }) != true else { return }  // one of the two clocks is wrong
            _ = try? await environment.store.cache.replace(record, with: nil, for: key)  // who comes next removes it
            return
        }
        throw AuthenticationError(
            .throttled,
            "The server asked another program to wait. Try again in \(seconds) s.",
            retryAfter: .seconds(seconds),
            correlationID: context.correlationID
        )
    }

    func note(_ error: AuthenticationError) async {
        guard .serverUnavailable ~= error.code, let wait = error.retryAfter, wait > .zero else { return }
        let record = ServerWait(notedAt: environment.clock.unixSeconds, seconds: wait.components.seconds).encoded()
        let cache = environment.store.cache
        // This process remembers it without the cache as well.
        _ = try? await cache.replace(try? cache.record(for: key), with: record, for: key)
        await removeThoseThatAreOver()
    }

    /// Those that nobody has asked for since would stay for ever.
    private func removeThoseThatAreOver() async {
        let (cache, now) = (environment.store.cache, environment.clock.unixSeconds)
        guard let records = try? await cache.records(of: .lease, in: key.group) else { return }
        for (key, record) in records {
            guard let wait = ServerWait(record), wait.notedAt <= now, wait.remaining(at: now) == nil else { continue }
            _ = try? await cache.replace(record, with: nil, for: key)  // best effort: it binds nobody
        }
    }
}

/// A wait, and when it began by the clock of who was told.
struct ServerWait: Hashable, Sendable {
    var notedAt: Int64
    var seconds: Int64

    /// The whole seconds that are left; `nil` when it is over.
    ///
    /// A clock that was set back, or another process's that is ahead, must not make a wait longer than it can have been.
    func remaining(at now: Int64) -> Int64? {
        let left = notedAt + min(seconds, Throttle.longest) - now
        return left > 0 && seconds > 0 && notedAt <= now ? left : nil
    }
}

extension ServerWait {
    /// Both members are bounded here, so that no sum of them can overflow: anybody who shares the cache can write one.
    init?(_ record: CacheRecord) {
        guard let json = try? JSONObject(parsing: record.bytes),  // a damaged one binds nobody
            let notedAt = json.roundedDown("noted_at"), let seconds = json.roundedDown("seconds"),
            (0...253_402_300_799).contains(notedAt)  // to the year 9999
        else { return nil }
        self.init(notedAt: notedAt, seconds: min(max(0, seconds), Throttle.longest))
    }

    func encoded() -> CacheRecord {
        var json = JSONObject()
        json["v"] = .integer(1)
        json["noted_at"] = .integer(notedAt)
        json["seconds"] = .integer(seconds)
        return CacheRecord(bytes: json.serialized())
    }
}

extension SilentRequest {
    /// Where the processes that share the credential tell each other how long the server wants no such request.
    func waitKey(_ store: CredentialStore) -> CacheKey {
        let name = Digest.hexadecimal(of: ["retry-after", store.key(for: id).name, throttleKey])
        return CacheKey(group: store.group, kind: .lease, name: name)
    }
}
