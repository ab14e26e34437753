// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Logging
import OAuthWire
import Synchronization

/// Fetches providers' published documents, once for any number of callers, and keeps them in memory and in the cache.
final class DiscoveryCache: Sendable {
    private let client: EndpointClient
    private let cache: any TokenCache
    private let group: CacheGroup
    private let clock: any WallClock
    private let memory = Mutex<[String: ProviderDocument]>([:])
    private let refetches = Mutex<[String: Int64]>([:])
    /// The hosts that did not answer: the end of the pause, in Unix seconds, and the failure.
    private let pauses = Mutex<[String: (end: Int64, failure: AuthenticationError)]>([:])
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
    /// requests: otherwise an unreachable host would delay each refresh.
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
        let kept = isRefetch ? nil : await kept(urls[0], at: now, check)
        let pause = pause(of: urls[0], at: now)
        if let kept, kept.isFresh(at: now) || kept.isUsable(at: now) && pause != nil { return kept }
        if let pause, pause.isOfABusyProvider, kept == nil, hasSubstitute, !isRefetch { throw pause }
        await willFetch()
        do {
            let document = try await flights.run("\(urls[0])\(isRefetch)") { [self] in
                try await fetch(urls, authority: authority, context: context, check: check)
            }
            if isRefetch { refetches.withLock { $0[urls[0]] = now } }
            return document
        } catch let error as AuthenticationError where error.isNoAnswer {
            let pause = min(max(Self.pause, error.retryAfter?.components.seconds ?? 0), Self.maximumPause)
            pauses.withLock { $0[urls[0]] = (now + pause, error) }
            guard let kept, kept.isUsable(at: now) else { throw error }
            context.logger.debug(
                "Using a published document of an earlier day",
                metadata: ["identity.error": "\(error.shortDescription)"]
            )
            return kept
        }
    }

    /// Seconds.
    private static let pause: Int64 = 60
    private static let maximumPause: Int64 = 3600

    /// The failure of a host that is not asked now.
    private func pause(of url: String, at now: Int64) -> AuthenticationError? {
        guard let (end, failure) = pauses.withLock({ $0[url] }) else { return nil }
        // Setting the clock back must not lengthen the pause.
        return end > now && end - now <= Self.maximumPause ? failure : nil
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
        var missing: AuthenticationError?
        for url in urls {
            let answer = try await client.get(url, context: context, authority: authority)
            if answer.status == 404 {
                missing = error(.configuration, "publishes nothing at \(url) (404); check the authority.", context)
                continue
            }
            let json = try body(of: answer, url: url, context: context)
            try check(json)
            let document = ProviderDocument(json: json, fetchedAt: clock.unixSeconds, maximumAge: answer.maximumAge)
            memory.withLock { $0[urls[0]] = document }
            await keep(document, urls[0], context)
            return document
        }
        throw missing ?? error(.configuration, "publishes nothing.", context)
    }

    private func body(of answer: EndpointAnswer, url: String, context: RequestContext) throws -> JSONObject {
        switch answer.status {
        case 200:
            do {
                return try JSONObject(parsing: answer.body)
            } catch {
                throw self.error(
                    .malformedResponse,
                    "answered \(url) without a JSON object (\(error)); the cause may be a captive portal.",
                    context
                )
            }
        case 300..<400:
            throw error(.unexpectedRedirect, "answered \(url) with a redirect, which is never followed.", context)
        case 408, 429, 500...:
            throw AuthenticationError(
                answer.status == 429 ? .throttled : .serverUnavailable,
                "The provider cannot answer now (\(answer.status)). Try again later.",
                retryAfter: answer.retryAfter(now: clock.unixSeconds),
                correlationID: context.correlationID
            )
        default:
            throw error(.configuration, "answered \(url) with status \(answer.status); check the authority.", context)
        }
    }

    /// Best effort: a document that is not kept is fetched again.
    private func keep(_ document: ProviderDocument, _ url: String, _ context: RequestContext) async {
        let key = key(url)
        do {
            let old = try await cache.record(for: key)
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
        AuthenticationError(code, "The provider \(text)", correlationID: context.correlationID)
    }
}

extension AuthenticationError {
    /// Whether the provider could not be reached, or another host answered instead. A refusal is an answer.
    fileprivate var isNoAnswer: Bool {
        let codes: [Code] = [.network, .serverUnavailable, .malformedResponse, .unexpectedRedirect, .responseTooLarge]
        return codes.contains { $0 ~= code }
    }

    /// Whether the provider is there and does not answer now: where there is no way to it, nothing that is known of it helps.
    var isOfABusyProvider: Bool { .serverUnavailable ~= code || code == .networkTimedOut }
}
