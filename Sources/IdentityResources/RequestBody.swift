// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import OAuthWire

/// A request's body: bytes, files, or a form with both. Files are read while they are sent, and again when a request has
/// to be repeated; they are never held in memory.
///
/// ```swift
/// let answer = try await client.send(AuthenticatedClient.request(.post, to: url), body: .json(bytes))
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

    /// Creates a form of names and values, as `application/x-www-form-urlencoded`. A space becomes `%20`.
    public static func form(_ fields: KeyValuePairs<String, String>) -> RequestBody {
        let text = FormURLEncoded.encode(fields.map { ($0.key, $0.value) })
        return .bytes(Array(text.utf8), contentType: FormURLEncoded.contentType)
    }

    /// Creates a body from the file at `path`, as it is when it is sent: a regular file that does not change meanwhile.
    public static func file(_ path: String, contentType: String? = "application/octet-stream") -> RequestBody {
        RequestBody(segments: [.file(path)], contentType: contentType)
    }
}

extension RequestBody {
    /// A part of a form.
    ///
    /// ```swift
    /// let body = RequestBody.multipart([
    ///     .field("title", "Holidays"), .file("image", path: "beach.jpg", contentType: "image/jpeg"),
    /// ])
    /// ```
    public struct Part: Sendable {
        let name: String
        let filename: String?
        let contentType: String?
        let segment: Segment

        /// Creates a part with a text field.
        public static func field(_ name: String, _ value: String) -> Part {
            Part(name: name, filename: nil, contentType: nil, segment: .bytes(Array(value.utf8)))
        }

        /// Creates a part with the file at `path`, under the file's own name unless another name is given.
        public static func file(
            _ name: String,
            path: String,
            filename: String? = nil,
            contentType: String = "application/octet-stream"
        ) -> Part {
            let ownName = path.split(separator: "/").last.map(String.init) ?? path
            return Part(name: name, filename: filename ?? ownName, contentType: contentType, segment: .file(path))
        }

        /// Creates a part with bytes in memory that are sent as a file.
        public static func bytes(
            _ name: String,
            _ bytes: [UInt8],
            filename: String,
            contentType: String = "application/octet-stream"
        ) -> Part {
            Part(name: name, filename: filename, contentType: contentType, segment: .bytes(bytes))
        }
    }

    /// Creates a form with `parts`, as `multipart/form-data`.
    ///
    /// - SeeAlso: [RFC 7578](https://www.rfc-editor.org/rfc/rfc7578)
    public static func multipart(_ parts: [Part]) -> RequestBody {
        multipart(parts, boundary: SecureRandom.token(bytes: 24))
    }

    static func multipart(_ parts: [Part], boundary: String) -> RequestBody {
        var segments: [Segment] = []
        var text = ""
        for part in parts {
            text += "--\(boundary)\r\nContent-Disposition: form-data; name=\"\(escaped(part.name))\""
            if let filename = part.filename { text += "; filename=\"\(escaped(filename))\"" }
            if let type = part.contentType { text += "\r\nContent-Type: \(oneLine(type))" }
            segments += [.bytes(Array((text + "\r\n\r\n").utf8)), part.segment]
            text = "\r\n"
        }
        segments.append(.bytes(Array("\(text)--\(boundary)--\r\n".utf8)))
        return RequestBody(segments: segments, contentType: "multipart/form-data; boundary=\(boundary)")
    }

    /// Escapes a name as browsers do: it can end neither its quotes nor its line.
    private static func escaped(_ text: String) -> String {
        String(
            decoding: text.utf8.flatMap { byte -> [UInt8] in
                switch byte {
                case UInt8(ascii: "\""): Array("%22".utf8)
                case 0x0D: Array("%0D".utf8)
                case 0x0A: Array("%0A".utf8)
                default: [byte]
                }
            },
            as: UTF8.self
        )
    }

    private static func oneLine(_ text: String) -> String {
        String(decoding: text.utf8.map { $0.isControl ? 0x20 : $0 }, as: UTF8.self)
    }
}
