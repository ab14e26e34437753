// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// A published document of a provider, its configuration or its keys, with the time of fetching.
///
/// It is stored in the cache as a separate record, so that a new process need not fetch it again; it may be lost at any
/// time.
struct ProviderDocument: Hashable, Sendable {
    var json: JSONObject
    /// Unix seconds by this computer's clock.
    var fetchedAt: Int64
    /// The freshness in seconds: as the provider says, an hour at least and a day at most …
    var freshFor: Int64 = 24 * 3600
    /// … and usable for a week if the provider is unreachable, or its answer is unusable.
    static let usableFor: Int64 = 7 * 24 * 3600
    /// The end of the pause after its host did not answer, in Unix seconds; `nil` if the host answered.
    var pausedUntil: Int64?
    /// The longest pause, in seconds.
    static let maximumPause: Int64 = 3600

    init(json: JSONObject, fetchedAt: Int64, maximumAge: Int64? = nil) {
        self.json = json
        self.fetchedAt = fetchedAt
        if let maximumAge { freshFor = min(max(3600, maximumAge), freshFor) }
    }

    init?(decoding record: CacheRecord) {
        guard let json = try? JSONObject(parsing: record.bytes),  // a damaged one is fetched anew
            let fetchedAt = json.roundedDown("fetched_at"), let document = json.object("document")
        else { return nil }
        self.init(json: document, fetchedAt: fetchedAt, maximumAge: json.roundedDown("max_age"))
        pausedUntil = json.roundedDown("paused_until")
    }

    func encoded() -> CacheRecord {
        var json = JSONObject()
        json["v"] = .integer(1)
        json["fetched_at"] = .integer(fetchedAt)
        json["max_age"] = .integer(freshFor)
        if let pausedUntil { json["paused_until"] = .integer(pausedUntil) }
        json["document"] = .object(self.json)
        return CacheRecord(bytes: json.serialized())
    }

    /// A document from the future is not fresh: the clock was set back.
    func isFresh(at now: Int64) -> Bool { age(at: now).map { $0 < freshFor } ?? false }

    func isUsable(at now: Int64) -> Bool { age(at: now).map { $0 < Self.usableFor } ?? false }

    /// Whether the document is used without asking its host for a newer one.
    func isPaused(at now: Int64) -> Bool { pausedUntil.map { Self.isPause(until: $0, at: now) } ?? false }

    /// Setting the clock back does not lengthen a pause.
    static func isPause(until end: Int64, at now: Int64) -> Bool { end > now && end - now <= maximumPause }

    private func age(at now: Int64) -> Int64? {
        (0...now + 300).contains(fetchedAt) ? now - fetchedAt : nil
    }
}
