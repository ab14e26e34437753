// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import OAuthWire
import SystemSupport

/// One checked request, in libcurl's form.
struct CurlRequest: Sendable {
    let target: RequestTarget
    let method: String
    /// `Name: value` lines.
    let fieldLines: [String]
    /// Whether an answer is decompressed, which was not asked to be compressed.
    let decompresses: Bool
    let body: [UInt8]?
    /// The length of a streamed body.
    let streamedLength: Int64?
    /// The end of the request's time; `nil` for a stream.
    var end: SuspendingClock.Instant?

    /// Fields that frame the message: the transport sets them, and a program's values would contradict it.
    private static let framing: Set<String> = [
        "connection", "content-length", "expect", "host", "keep-alive", "proxy-connection", "te", "trailer",
        "transfer-encoding", "upgrade",
    ]

    init(_ request: HTTPRequest, body: [UInt8]?, streamedLength: Int64? = nil) throws {
        target = try RequestTarget(request)
        method = request.method.rawValue
        guard method != "CONNECT" else {
            throw AuthenticationError(.invalidArgument, "CONNECT is not supported: use another method.")
        }
        // A POST states its body's length even for an empty body.
        self.streamedLength = streamedLength
        let saysLength = streamedLength == nil && ["POST", "PUT", "PATCH"].contains(method)
        self.body = body ?? (saysLength ? [] : nil)
        let hasBody = self.body != nil || streamedLength != nil
        guard method != "HEAD" || !hasBody else {
            throw AuthenticationError(.invalidArgument, "A HEAD has no body: leave it out, or use another method.")
        }

        var lines: [String] = []
        var given: Set<String> = []
        for field in request.headerFields where !Self.framing.contains(field.name.canonicalName) {
            given.insert(field.name.canonicalName)
            guard field.value.utf8.allSatisfy(\.isFieldText) else {
                throw AuthenticationError(
                    .invalidArgument,
                    "The header field \(field.name.rawName) contains a control character."
                )
            }
            lines.append(field.value.isEmpty ? "\(field.name.rawName);" : "\(field.name.rawName): \(field.value)")
        }
        // The transport sends only the request's fields; libcurl would add these.
        decompresses = !given.contains("accept-encoding")
        if !given.contains("accept") { lines.append("Accept:") }
        if hasBody, !given.contains("content-type") { lines.append("Content-Type:") }
        lines.append("Expect:")
        fieldLines = lines
    }
}

/// The target of a request, checked before libcurl sees it.
struct RequestTarget: Hashable, Sendable {
    let url: String
    /// The host in lower case, without brackets; safe to show.
    let host: String
    /// The host as the address has it, with its port if it names one; safe to show.
    let place: String
    /// Whether the host is this computer by its name alone.
    let isLoopback: Bool

    init(_ request: HTTPRequest) throws {
        guard let scheme = request.scheme?.lowercased(), let authority = request.authority else {
            throw Self.refusal("The request has no scheme or no host: give it an absolute https address.")
        }
        guard let (host, _) = WebAddress.hostAndPort(authority[...]) else {
            throw Self.refusal(
                "The request's host is not acceptable: a host name, an IPv4 address or an IPv6 address in brackets, "
                    + "and a port where one is needed. Names with other letters than ASCII go in their xn-- form."
            )
        }
        self.host = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        place = authority.lowercased()
        isLoopback = WebAddress.isLoopback(host: host)
        guard scheme == "https" || (scheme == "http" && isLoopback) else {
            throw Self.refusal(
                "\(host) cannot be reached over this scheme: only https is used, and http for this computer itself "
                    + "(localhost, 127.0.0.1, [::1])."
            )
        }
        let path = request.path.flatMap { $0.isEmpty ? nil : $0 } ?? "/"
        guard path.utf8.first == UInt8(ascii: "/"),
            path.utf8.allSatisfy({ $0.isVisible && $0 != UInt8(ascii: "#") })
        else {
            throw Self.refusal(
                "The path of the request to \(host) is not acceptable: it starts with a slash, has no fragment, and "
                    + "everything but visible ASCII is percent-encoded."
            )
        }
        url = "\(scheme)://\(authority)\(path)"
    }

    private static func refusal(_ message: String) -> AuthenticationError {
        AuthenticationError(.invalidArgument, message)
    }
}

/// The settings of all requests of one transport.
struct CurlSettings: Sendable {
    var timeoutMilliseconds: Int
    var connectTimeoutMilliseconds: Int
    var maximumResponseBytes: Int
    /// The maximum time without progress in a stream.
    var stallMilliseconds = 30_000
    var maximumHeadBytes = 64 * 1024
    /// A file of trusted certificates instead of the system's.
    var certificateAuthorities: String?
    /// The proxy instead of the environment's; empty for none.
    var proxy: ProxyAddress?
    /// The library's names, tried in this order.
    var libraryNames = ("libcurl.so.4", "libcurl-gnutls.so.4")
    /// The time for which a thread without work keeps its connections.
    var idleTime = Duration.seconds(60)
    /// The time for which libcurl may block the thread before requests go to another thread.
    var heldUpTimeout = Duration.seconds(10)
    /// The computer's total time asleep, since any fixed moment.
    var timeAsleep: @Sendable () -> Duration = { [meter = SleepMeter()] in meter.timeAsleep }
    /// A newer libcurl is used as if it were this one (`0xXXYYZZ`).
    var newestLibraryVersion = UInt32.max

    /// The environment's proxy without the white space around it, which libcurl would take for a part of the address; `nil`
    /// to leave the environment to libcurl.
    static func trimmedProxy(_ variable: (String) -> String? = SystemCall.environment) -> String? {
        let names = ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]  // in libcurl's order
        guard let given = names.lazy.compactMap(variable).first else { return nil }
        let isSpace = { (byte: UInt8) in byte == 0x20 || (0x09...0x0D).contains(byte) }
        var text = given.utf8.drop(while: isSpace)
        while let last = text.last, isSpace(last) { text.removeLast() }
        return text.count == given.utf8.count ? nil : String(Substring(text))
    }

    /// The same in libcurl's unit, seconds.
    var stallSeconds: Int { max(1, (stallMilliseconds + 999) / 1000) }
}

/// A proxy's address from a program. Its descriptions are empty, because it may contain a password.
struct ProxyAddress: Sendable, CustomStringConvertible, CustomReflectable {
    let text: String

    /// Whether the address can be passed to libcurl, which checks the rest.
    var isPlain: Bool { text.utf8.areVisible }

    /// The host and the port, looked for by bytes: a sign with an accent is another character, and a password stands before it.
    var place: String {
        let place = text.utf8.split(separator: UInt8(ascii: "@")).last?.split(separator: "://".utf8).last
        return place.map { String(Substring($0)) } ?? ""
    }

    var description: String { "ProxyAddress(redacted)" }

    var customMirror: Mirror { Mirror(self, children: []) }
}

extension Duration {
    /// Whole milliseconds, at least 1, because 0 means "for ever" to libcurl.
    var curlMilliseconds: Int {
        let (seconds, attoseconds) = components
        guard seconds < 1_000_000 else { return 1_000_000_000 }
        guard seconds >= 0 else { return 1 }
        return max(1, Int(seconds) * 1000 + Int(attoseconds / 1_000_000_000_000_000))
    }
}

/// Reads the status line and the header fields of an answer.
enum ResponseHead {
    /// The answer's status and fields in their order, also several with the same name; `nil` if there is no status
    /// line.
    ///
    /// Other lines are skipped; a folded line continues the field before it.
    /// - SeeAlso: [RFC 9112 §4, §5](https://www.rfc-editor.org/rfc/rfc9112#section-4)
    static func parse(_ bytes: [UInt8]) -> HTTPResponse? {
        var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)[...]
        guard let first = lines.popFirst(), let code = statusCode(first) else { return nil }

        var fields: [(name: HTTPField.Name, value: [UInt8])] = []
        for line in lines {
            if let start = line.first, isBlank(start), !fields.isEmpty, start != UInt8(ascii: "\r") {
                fields[fields.count - 1].value += [UInt8(ascii: " ")] + trimmed(line)
                continue
            }
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")),
                let name = HTTPField.Name(String(decoding: line[..<colon], as: UTF8.self))
            else { continue }
            fields.append((name, Array(trimmed(line[(colon + 1)...]))))
        }

        var response = HTTPResponse(status: HTTPResponse.Status(code: code))
        response.headerFields.reserveCapacity(fields.count)
        for field in fields {
            response.headerFields.append(HTTPField(name: field.name, value: field.value))
        }
        return response
    }

    private static func statusCode(_ line: ArraySlice<UInt8>) -> Int? {
        guard line.starts(with: "HTTP/".utf8), let space = line.firstIndex(of: UInt8(ascii: " ")) else { return nil }
        let digits = trimmed(line[(space + 1)...]).prefix { $0 != UInt8(ascii: " ") }
        guard digits.count == 3, let code = Int(String(decoding: digits, as: UTF8.self)), (100...999).contains(code)
        else { return nil }
        return code
    }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var bytes = bytes.drop(while: isBlank)
        while let last = bytes.last, isBlank(last) { bytes.removeLast() }
        return bytes
    }

    private static func isBlank(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") || byte == UInt8(ascii: "\r")
    }
}
