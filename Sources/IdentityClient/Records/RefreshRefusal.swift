// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// A refusal of a refresh token. It is stored with the token, so that no process that shares the record asks again at
/// once.
package struct RefreshRefusal: Hashable, Sendable {
    /// A digest of the refused refresh token and, if the token serves several requests, of the request.
    package var digest: String
    /// The time of the refusal, in Unix seconds.
    package var at: Int64
    /// The number of consecutive refusals, from 1.
    package var count: Int

    /// The seconds for which the token is not sent after this refusal, at most an hour.
    package var pause: Int64

    private static let maximumCount = 1000
    private static let maximumPause: Int64 = 3600
    /// The most refusals that are stored with one refresh token.
    static let most = 8

    package init(digest: String, at: Int64, count: Int, pause: Int64) {
        self.digest = digest
        self.at = at
        self.count = max(1, min(count, Self.maximumCount))
        self.pause = max(0, min(pause, Self.maximumPause))
    }

    /// Returns the pause in seconds: one minute after the first refusal, and twice as long after each further refusal.
    static func pause(after count: Int) -> Int64 { min(60 << Int64(max(0, min(count - 1, 6))), maximumPause) }
}

extension CachedRefreshToken {
    /// Returns the seconds for which the token must not be sent because the provider has refused it; `nil` if it may be
    /// sent.
    ///
    /// The result never exceeds the pause, even if the clock was set back.
    ///
    /// - Parameter request: A text that distinguishes the requests that the token serves; empty if there is only one.
    package func refusedFor(_ request: String, at now: Int64) -> Int64? {
        guard !refusals.isEmpty, let refusal = refusals.first(where: { $0.digest == digest(for: request) }),
            refusal.at <= now, now - refusal.at < refusal.pause
        else { return nil }
        return refusal.at + refusal.pause - now
    }

    /// Returns the same token with a refusal at `now` added, perhaps not the first.
    ///
    /// - Parameter end: The time at which the remaining access token expires. Some providers refuse an early renewal,
    ///   and such a refusal says nothing about a renewal at that time.
    package func refused(_ request: String, at now: Int64, until end: Int64? = nil) -> CachedRefreshToken {
        let digest = digest(for: request)
        let before = refusals.first { $0.digest == digest }?.count ?? 0
        var result = self
        result.refusals.removeAll { $0.digest == digest }
        result.refusals = result.refusals.suffix(RefreshRefusal.most - 1)
        let pause = min(RefreshRefusal.pause(after: before + 1), end.map { $0 - now } ?? .max)
        result.refusals.append(RefreshRefusal(digest: digest, at: now, count: before + 1, pause: pause))
        return result
    }

    private func digest(for request: String) -> String {
        Digest.hexadecimal(of: ["refused", secret, request])
    }
}

extension AuthenticationError {
    /// Any process's refusal of a refresh token counts: the token is not sent again for a while, unless the caller
    /// forces it.
    static func refused(for seconds: Int64, _ context: RequestContext) -> AuthenticationError {
        context.error(
            .signInExpired,
            """
            The provider has refused this account's refresh token, and is not asked again for \(seconds) s: sign in \
            interactively.
            """,
            retryAfter: .seconds(seconds)
        )
    }
}

// The refusals as text in the record: digest, time, count and pause of each, all separated by spaces.
extension [RefreshRefusal] {
    package var text: String? {
        isEmpty ? nil : map { "\($0.digest) \($0.at) \($0.count) \($0.pause)" }.joined(separator: " ")
    }

    /// Reads the text. An unreadable refusal is ignored.
    init(text: String) {
        let words = text.split(separator: " ").prefix(4 * RefreshRefusal.most)
        self = stride(from: words.startIndex, to: words.endIndex - 3, by: 4).compactMap { index in
            guard let at = Int64(words[index + 1]), UnixSeconds.all.contains(at),
                let count = Int(words[index + 2]),
                let pause = Int64(words[index + 3])
            else { return nil }
            return RefreshRefusal(digest: String(words[index]), at: at, count: count, pause: pause)
        }
    }
}
