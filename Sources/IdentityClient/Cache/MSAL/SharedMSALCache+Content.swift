// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import OAuthWire

extension SharedMSALCache {
    /// Returns a cache in memory with the client's accounts in what another program stored in a keyring.
    ///
    /// - Parameter content: The program's cache: JSON (MSAL Python and Node), or Base64 of it (.NET, Go and Java).
    /// - Throws: `.cache` for other content.
    package static func accounts(
        of clientID: ClientID,
        in content: [UInt8],
        group: CacheGroup
    ) async throws -> InMemoryTokenCache {
        let isJSON = content.first { $0 > UInt8(ascii: " ") } == UInt8(ascii: "{")
        let bytes = isJSON ? content : Data(base64Encoded: Data(content)).map { Array($0) }
        guard let bytes, !bytes.isEmpty, bytes.count <= MSALBlob.sizeLimit, let blob = try? MSALBlob(parsing: bytes)
        else {
            throw AuthenticationError(
                .cache,
                "The keyring item is not a token cache that can be read. It was left as it is."
            )
        }
        let cache = InMemoryTokenCache()
        for (name, account) in blob.accounts(of: clientID.rawValue) {
            let record = CacheRecord(bytes: account.credentials.encoded())
            _ = try await cache.replace(nil, with: record, for: CacheKey(group: group, kind: .account, name: name))
        }
        return cache
    }
}
