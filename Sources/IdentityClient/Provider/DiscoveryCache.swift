// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Logging
import OAuthWire
import Synchronization
import SystemSupport

/// Fetches providers' published documents, once for any number of callers, and keeps them in memory and in the cache.
final class DiscoveryCache: Sendable {
    private let client: EndpointClient
    private let cache: any TokenCache
    private let group: CacheGroup
    private let clock: any WallClock
    private let memory = Mutex<[String: ProviderDocument]>([:])
    private let refetches = Mutex<[String: Int64]>([:])
    private let pauses = Mutex<[String: Pause]>([:])
    private let flights = SingleFlight<String, ProviderDocument>()

    init(client: EndpointClient, cache: any TokenCache, group: CacheGroup, clock: any WallClock) {
        self.client = client
        self.cache = cache
        self.group = group
        self.clock = clock
    }

    /// The document at the first of `urls` that has one, accepted by `check`. Only accepted documents are kept.
    ///
    /// After a failure, the cached document or the caller's substitute is used for a minute, or as long as the provider
    /// requests: otherwise an unreachable host would delay each refresh. The pause is stored with the cached document,
    /// so that it counts for other processes too. If there is a cached document, the caller waits for a newer one only
    /// a tenth of the time for a request; the request goes on, and its answer serves the next caller.
    ///
    /// - Parameters:
    ///   - isRefetch: Whether to skip a cached document, because it proved outdated.
    ///   - hasSubstitute: Whether the caller can do without the document while the host does not answer.
    ///   - willFetch: Called before a request is sent.
    func document(
        at urls: [String],
        for authority: Authority,
        isRefetch: Bool = false,
        hasSubstitute: Bool = false,
        context: RequestContext,
        willFetch: @Sendable () async -> Void = {},
        check: @escaping @Sendable (JSONObject) throws -> Void
    ) async throws -> ProviderDocument {
        let now = clock.unixSeconds
        let isRefetch = isRefetch && mayRefetch(urls[0], at: now)
        let known = isRefetch ? nil : await kept(urls[0], at: now, check)
        let kept = known.flatMap { $0.isUsable(at: now) ? $0 : nil }
        let pause = pauses.withLock { $0[urls[0]] }.flatMap { $0.isOver(at: now) ? nil : $0 }
        if let kept, kept.isFresh(at: now) || kept.isPaused(at: now) || pause != nil { return kept }
        if let pause {
            let canDoWithout = hasSubstitute && !isRefetch
            if pause.isRequested || canDoWithout && pause.failure.isOfABusyProvider {
                throw pause.error(at: now, context)
            }
        }
        await willFetch()
        do {
            let request = { @Sendable [self] in
                try await flights.run("\(urls[0])\(isRefetch)") { [self] in
                    try await fetch(urls, authority: authority, context: context, check: check)
                }
            }
            let document =
                if kept == nil { try await request() } else { try await withDeadline(client.deadline / 10, request) }
            if isRefetch { refetches.withLock { $0[urls[0]] = now } }
            return document
        } catch {
            guard let error = Self.noAnswer(error) else { throw error }
            let pause = Pause(after: error, at: now)
            pauses.withLock { $0[urls[0]] = pause }
            guard var kept else { throw error }
            kept.pausedUntil = pause.end
            await keep(kept, urls[0], context)
            context.logger.debug(
                "Using a published document of an earlier day",
                metadata: ["identity.error": "\(error.shortDescription)"]
            )
            return kept
        }
    }

    /// The time during which a host is not asked, because it did not answer.
    private struct Pause {
        let failure: AuthenticationError
        /// In Unix seconds.
        let end: Int64

        init(after failure: AuthenticationError, at now: Int64) {
            self.failure = failure
            let seconds = max(60, failure.retryAfter?.components.seconds ?? 0)
            end = now + min(seconds, ProviderDocument.maximumPause)
        }

        /// Whether the provider asked for it.
        var isRequested: Bool { failure.retryAfter != nil }

        func isOver(at now: Int64) -> Bool { !ProviderDocument.isPause(until: end, at: now) }

        func error(at now: Int64, _ context: RequestContext) -> AuthenticationError {
            context.error(
                failure.code,
                failure.message,
                retryAfter: isRequested ? .seconds(end - now) : nil,
                underlyingError: failure.underlyingError,
                timestamp: failure.timestamp
            )
        }
    }

    /// The error if the provider could not be reached, or another host answered instead; `nil` for a refusal, which is
    /// an answer.
    private static func noAnswer(_ error: any Error) -> AuthenticationError? {
        guard let error = error as? AuthenticationError else {
            return error is DeadlineExceeded
                ? AuthenticationError(.networkTimedOut, "The provider did not answer in time.") : nil
        }
        let codes: [AuthenticationError.Code] = [
            .network, .serverUnavailable, .malformedResponse,
        ]
        return codes.contains { $0 ~= error.code } ? error : nil
    }

    /// Once in five minutes, so that a stream of forged tokens does not become a stream of requests.
    private func mayRefetch(_ url: String, at now: Int64) -> Bool {
        guard let last = refetches.withLock({ $0[url] }) else { return true }
        return last > now || now - last >= 300
    }

    private func kept(
        _ url: String,
        at now: Int64,
        _ check: @Sendable (JSONObject) throws -> Void
    ) async -> ProviderDocument? {
        if let document = memory.withLock({ $0[url] }) { return document }
        guard let record = try? await cache.record(for: key(url)),  // a lost document is fetched anew
            let document = ProviderDocument(decoding: record), document.isUsable(at: now),
            (try? check(document.json)) != nil
        else { return nil }
        memory.withLock { $0[url] = document }
        return document
    }

    private func fetch(
        _ urls: [String],
        authority: Authority,
        context: RequestContext,
        check: @Sendable (JSONObject) throws -> Void
    ) async throws -> ProviderDocument {
        var (missing, pages): ([String], [String]) = ([], [])
        for url in urls {
            let (response, bytes, url) = try await client.document(at: url, context: context, authority: authority)
            // Deviation: Cognito answers 400, and others 401 or 403, where they have no document.
            if response.status.kind == .clientError, ![408, 429].contains(response.status.code) {
                missing.append("\(url) (\(response.status.code))")
                continue
            }
            let json: JSONObject
            do {
                json = try body(bytes, of: response, url: url, context: context)
            } catch let noObject as JSONError {
                // A web application answers every address with its page.
                pages.append("\(url) (\(noObject))")
                continue
            }
            try check(json)
            let document = ProviderDocument(json: json, fetchedAt: clock.unixSeconds, maximumAge: response.maximumAge)
            memory.withLock { $0[urls[0]] = document }
            await keep(document, urls[0], context)
            return document
        }
        guard pages.isEmpty else {
            let text = "answered without a JSON object at \(pages.joined(separator: ", "));"
            throw error(.malformedResponse, "\(text) the cause may be a web application or a captive portal.", context)
        }
        throw error(
            .configuration,
            "publishes nothing at \(missing.joined(separator: " or ")); check the authority.",
            context
        )
    }

    /// - Throws: `JSONError` for an answer of 200 that is no JSON object.
    private func body(
        _ bytes: [UInt8],
        of response: HTTPResponse,
        url: String,
        context: RequestContext
    ) throws -> JSONObject {
        let status = response.status.code
        switch status {
        case 200:
            return try JSONObject(received: bytes)
        case 300..<400:
            let target = response.redirectTarget(from: url).map { " to \(WireText.quoted($0))" } ?? ""
            throw error(
                .malformedResponse,
                """
                answered \(url) with a redirect\(target), which is not followed: redirects are followed within one origin, \
                three times at most. Check the authority; a captive portal redirects, too.
                """,
                context
            )
        case 408, 429, 500...:
            throw context.error(
                status == 429 ? .throttled : .serverUnavailable,
                "The provider cannot answer now (\(status)). Try again later.",
                retryAfter: response.retryAfter(now: clock.unixSeconds)
            )
        default:
            throw error(.configuration, "answered \(url) with status \(status); check the authority.", context)
        }
    }

    /// Best effort: a document that is not kept is fetched again. A pause is kept only with the document that it is of,
    /// because another process may have got a newer one.
    private func keep(_ document: ProviderDocument, _ url: String, _ context: RequestContext) async {
        let key = key(url)
        do {
            let old = try await cache.record(for: key)
            let isTheSame = old.flatMap(ProviderDocument.init(decoding:))?.fetchedAt == document.fetchedAt
            guard isTheSame || document.pausedUntil == nil else { return }
            _ = try await cache.replace(old, with: document.encoded(), for: key)
        } catch {
            context.logger.debug("A published document could not be kept in the cache")
        }
    }

    private func key(_ url: String) -> CacheKey {
        CacheKey(group: group, kind: .provider, name: Digest.hexadecimal(of: ["provider", url]))
    }

    private func error(_ code: AuthenticationError.Code, _ text: String, _ context: RequestContext)
        -> AuthenticationError
    {
        context.error(code, "The provider \(text)")
    }
}

extension AuthenticationError {
    /// Whether the provider is there and does not answer now. If there is no way to it, nothing that is known of it helps.
    var isOfABusyProvider: Bool { .serverUnavailable ~= code || code == .networkTimedOut }
}

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
