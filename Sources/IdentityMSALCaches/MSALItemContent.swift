// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
package import IdentityClient

/// The content of a keyring item in which programs with MSAL keep their tokens: JSON (MSAL Python and Node), or Base64 of it (.NET,
/// Go and Java).
package struct MSALItemContent: Sendable {
    package let reading: MSALReading
    /// The secret of the item.
    package let secret: [UInt8]
    private let isBase64: Bool
    private let clientID: ClientID

    /// Reads a secret.
    ///
    /// - Parameters:
    ///   - secret: The secret; `nil` if there is no item.
    ///   - usesBase64: The form of a new item. An item that exists keeps its form.
    ///   - old: The content that was read before.
    /// - Throws: `.cache` for anything that is not a cache.
    package init(
        parsing secret: [UInt8]?,
        usesBase64: Bool,
        of clientID: ClientID,
        after old: MSALItemContent? = nil
    ) throws {
        self.clientID = clientID
        self.secret = secret ?? []
        guard let secret else {
            isBase64 = usesBase64
            reading = MSALReading(MSALBlob(), of: clientID, after: old?.reading)
            return
        }
        isBase64 = secret.first { $0 > UInt8(ascii: " ") } != UInt8(ascii: "{")
        let bytes = isBase64 ? Data(base64Encoded: Data(secret)).map { Array($0) } : secret
        guard let bytes, !bytes.isEmpty, bytes.count <= MSALBlob.sizeLimit, let blob = try? MSALBlob(parsing: bytes)
        else {
            throw AuthenticationError(
                .cache,
                "The keyring item is not a token cache that can be read. It was left as it is."
            )
        }
        reading = MSALReading(blob, of: clientID, after: old?.reading)
    }

    private init(_ blob: MSALBlob, after old: MSALItemContent) throws {
        clientID = old.clientID
        isBase64 = old.isBase64
        reading = MSALReading(blob, of: old.clientID, after: old.reading)
        let bytes = blob.serialized()
        guard bytes.count <= MSALBlob.sizeLimit else {
            throw AuthenticationError(
                .cacheFull,
                "The keyring item would become larger than 16 MiB. Sign accounts out."
            )
        }
        secret = isBase64 ? Array(Data(bytes).base64EncodedData()) : bytes
    }

    /// Returns the content after a change of one account, with the same secret if nothing changes; `nil` if the stored account is not
    /// `expected`.
    ///
    /// - Parameter new: The credentials; `nil` to sign the client out.
    /// - Throws: `.cache` for content that may not be written, `.cacheFull`.
    package func replacing(
        _ expected: CacheRecord?,
        with new: AccountCredentials?,
        for key: CacheKey
    ) throws -> MSALItemContent? {
        guard let blob = try reading.replacing(expected, with: new, under: key.name) else { return nil }
        return blob == reading.blob ? self : try MSALItemContent(blob, after: self)
    }

    /// Throws if the content may not be written.
    package func checkMayBeWritten() throws {
        try reading.blob.checkMayBeWritten()
    }
}
