// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityTesting
import SQLiteTokenCache

/// One of the processes that the tests share a database with.
@main struct CacheWorker {
    static func main() async throws {
        try await TokenCacheWorker.run(SQLiteTokenCache(path: CommandLine.arguments[1]))
    }
}
