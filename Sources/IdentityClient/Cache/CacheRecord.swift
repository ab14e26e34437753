// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Opaque bytes that a TokenCache keeps. They contain secrets: never log them.
///
/// ```swift
/// let isStored = try await cache.replace(nil, with: CacheRecord(bytes: bytes), for: key)
/// ```
public struct CacheRecord: Hashable, Sendable, CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable
{
    /// The bytes, at most 1 MiB.
    public let bytes: [UInt8]

    /// Wraps bytes that a cache has read or a test has made.
    public init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// The number of bytes, without their content.
    public var description: String {
        "CacheRecord(\(bytes.count) bytes)"
    }

    /// The same as ``description``.
    public var debugDescription: String {
        description
    }

    /// A mirror with the number of bytes only, so that `dump` reveals nothing.
    public var customMirror: Mirror {
        Mirror(self, children: ["count": bytes.count])
    }
}
