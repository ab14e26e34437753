// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// A refusal of a refresh token, remembered with it for all processes that share the record: they do not ask again at once.
package struct RefreshRefusal: Hashable, Sendable {
    /// A digest of the refresh token that was refused and, where one is good for many requests, of the request.
    package var digest: String
    /// Unix seconds.
    package var at: Int64
    /// How often in a row, from 1.
    package var count: Int

    /// Seconds for which the token is not sent after it, at most an hour.
    package var pause: Int64

    private static let maximumCount = 1000
    private static let longest: Int64 = 3600
    /// How many are remembered with one refresh token.
    static let most = 8

    package init(digest: String, at: Int64, count: Int, pause: Int64) {
        self.digest = digest
        self.at = at
        self.count = max(1, min(count, Self.maximumCount))
        self.pause = max(0, min(pause, Self.longest))
    }

    /// A minute after the first, twice as long after each further one.
    static func pause(after count: Int) -> Int64 { min(60 << Int64(max(0, min(count - 1, 6))), longest) }
}

extension CachedRefreshToken {
    /// The seconds for which the token is not to be sent because the provider has refused it; `nil` where it may be.
    ///
    /// A clock that was set back must not make them more than they can have been.
    ///
    /// - Parameter request: What tells requests apart that the token is good for; empty where there is one.
    package func refusedFor(_ request: String, at now: Int64) -> Int64? {
        guard !refusals.isEmpty, let refusal = refusals.first(where: { $0.digest == digest(for: request) }),
            refusal.at <= now, now - refusal.at < refusal.pause
        else { return nil }
        return refusal.at + refusal.pause - now
    }

    /// The same token, which was refused at `now`, perhaps not for the first time.
    ///
    /// - Parameter end: When the access token ends that there is still. Some providers refuse to renew one so early, and
    ///   that says nothing of what they do then.
    package func refused(_ request: String, at now: Int64, until end: Int64? = nil) -> CachedRefreshToken {
        let digest = digest(for: request)
        let before = refusals.first { $0.digest == digest }?.count ?? 0
        var result = self
        result.refusals.removeAll { $0.digest == digest }
        result.refusals = result.refusals.suffix(RefreshRefusal.most - 1)
        let pause = min(RefreshRefusal.pause(after: before + 1), (end ?? .max) - now)
        result.refusals.append(RefreshRefusal(digest: digest, at: now, count: before + 1, pause: pause))
        return result
    }

    private func digest(for request: String) -> String {
        Digest.hexadecimal(of: ["refused", secret, request])
    }
}

// As text in the record: digest, time, count and pause of each, all set off by spaces.
extension [RefreshRefusal] {
    var text: String? {
        isEmpty ? nil : map { "\($0.digest) \($0.at) \($0.count) \($0.pause)" }.joined(separator: " ")
    }

    /// What cannot be read binds nobody.
    init(text: String) {
        let words = text.split(separator: " ").prefix(4 * RefreshRefusal.most)
        self = stride(from: words.startIndex, to: words.endIndex - 3, by: 4).compactMap { index in
            // Up to the year 9999, so that no sum of times can overflow.
            guard let at = Int64(words[index + 1]), (0...253_402_300_799).contains(at),
                let count = Int(words[index + 2]),
                let pause = Int64(words[index + 3])
            else { return nil }
            return RefreshRefusal(digest: String(words[index]), at: at, count: count, pause: pause)
        }
    }
}
