// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// What a provider published, and when it was fetched: its configuration or its keys.
///
/// It rests in the cache as a record of its own, so that a new process need not ask again; it may be lost at any time.
struct ProviderDocument: Hashable, Sendable {
    var json: JSONObject
    /// Unix seconds by this computer's clock.
    var fetchedAt: Int64
    /// Seconds for which it is taken as it is: as the provider says, an hour at least and a day at most …
    var freshFor: Int64 = 24 * 3600
    /// … and for a week while the provider cannot be reached, or answers with something else.
    static let usableFor: Int64 = 7 * 24 * 3600

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
    }

    func encoded() -> CacheRecord {
        var json = JSONObject()
        json["v"] = .integer(1)
        json["fetched_at"] = .integer(fetchedAt)
        json["max_age"] = .integer(freshFor)
        json["document"] = .object(self.json)
        return CacheRecord(bytes: json.serialized())
    }

    /// A document from the future is not fresh: the clock was set back.
    func isFresh(at now: Int64) -> Bool { age(at: now).map { $0 < freshFor } ?? false }

    func isUsable(at now: Int64) -> Bool { age(at: now).map { $0 < Self.usableFor } ?? false }

    private func age(at now: Int64) -> Int64? {
        (0...now + 300).contains(fetchedAt) ? now - fetchedAt : nil
    }
}
