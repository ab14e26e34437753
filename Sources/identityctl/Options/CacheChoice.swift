// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

/// Where tokens rest, as `--cache` says.
enum CacheChoice: Hashable, Sendable {
    case memory
    /// `nil` is the user's state directory.
    case file(directory: String?)

    init(_ given: Given?) throws {
        switch given?.text {
        case nil, "file": self = .file(directory: nil)
        case "memory": self = .memory
        case .some(let text) where text.hasPrefix("file:") && text.utf8.count > 5:
            self = .file(directory: String(text.dropFirst(5)))
        case .some(let text):
            throw UsageError(
                """
                \(given?.origin ?? "--cache"): '\(text.printable)' is not a cache. Possible are: memory (forgotten when \
                the program ends), file (in your state directory, the default), file:DIRECTORY.
                """
            )
        }
    }

    var cache: any TokenCache {
        switch self {
        case .memory: InMemoryTokenCache()
        case .file(let directory): FileTokenCache(directory: directory)
        }
    }
}
