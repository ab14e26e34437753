// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityCacheTesting
import SQLiteTokenCache

/// A process with which the tests share a database.
@main struct CacheWorker {
    static func main() async throws {
        try await TokenCacheWorker.run(SQLiteTokenCache(path: CommandLine.arguments[1]))
    }
}
