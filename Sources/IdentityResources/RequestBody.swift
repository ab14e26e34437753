// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

/// A request's body: bytes, files, or a form with both. Files are read while they are sent, and again when a request has
/// to be repeated; they are never held in memory.
///
/// ```swift
/// let answer = try await client.send(HTTPRequest(.post, to: url), body: .json(bytes))
/// ```
public struct RequestBody: Sendable {
    /// A piece of the body.
    enum Segment: Hashable, Sendable {
        case bytes([UInt8])
        case file(String)
    }

    let segments: [Segment]

    /// The value of `Content-Type`, unless the request has that field; `nil` sends none.
    public let contentType: String?

    init(segments: [Segment], contentType: String?) {
        self.segments = segments
        self.contentType = contentType
    }

    /// Creates a body from bytes in memory.
    public static func bytes(_ bytes: [UInt8], contentType: String? = nil) -> RequestBody {
        RequestBody(segments: [.bytes(bytes)], contentType: contentType)
    }

    /// Creates a body from JSON text as bytes.
    public static func json(_ bytes: [UInt8]) -> RequestBody {
        .bytes(bytes, contentType: "application/json")
    }

    /// Creates a body from the file at `path`, as it is when it is sent: a regular file that does not change meanwhile.
    public static func file(_ path: String, contentType: String? = "application/octet-stream") -> RequestBody {
        RequestBody(segments: [.file(path)], contentType: contentType)
    }
}
