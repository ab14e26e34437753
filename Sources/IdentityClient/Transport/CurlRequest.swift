// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes

/// One request, checked and in the form in which libcurl takes it.
struct CurlRequest: Sendable {
    let target: RequestTarget
    let method: String
    /// `Name: value` lines.
    let fieldLines: [String]
    let body: [UInt8]?
    /// The length of a body that is given piece by piece.
    let streamedLength: Int64?

    /// Fields that say how the message travels: they are the transport's, and a program's would only contradict it.
    private static let framing: Set<String> = [
        "connection", "content-length", "expect", "host", "keep-alive", "proxy-connection", "te", "trailer",
        "transfer-encoding", "upgrade",
    ]

    init(_ request: HTTPRequest, body: [UInt8]?, streamedLength: Int64? = nil) throws {
        target = try RequestTarget(request)
        method = request.method.rawValue
        guard method != "CONNECT" else {
            throw AuthenticationError(.invalidArgument, "CONNECT is no request for an answer: use another method.")
        }
        // A POST says how long its body is even when it has none.
        self.streamedLength = streamedLength
        let saysLength = streamedLength == nil && ["POST", "PUT", "PATCH"].contains(method)
        self.body = body ?? (saysLength ? [] : nil)
        let hasBody = self.body != nil || streamedLength != nil
        guard method != "HEAD" || !hasBody else {
            throw AuthenticationError(.invalidArgument, "A HEAD has no body: enqueue it out, or use another method.")
        }

        var lines: [String] = []
        var given: Set<String> = []
        for field in request.headerFields where !Self.framing.contains(field.name.canonicalName) {
            given.insert(field.name.canonicalName)
            guard field.value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
                throw AuthenticationError(
                    .invalidArgument,
                    "The header field \(field.name.rawName) contains a control character."
                )
            }
            lines.append(field.value.isEmpty ? "\(field.name.rawName);" : "\(field.name.rawName): \(field.value)")
        }
        // What goes out is what the request says; libcurl would add these. Compression is turned down, because an
        // answer that is small on the wire and vast in memory could not be bounded while it arrives.
        if !given.contains("accept-encoding") { lines.append("Accept-Encoding: identity") }
        if !given.contains("accept") { lines.append("Accept:") }
        if hasBody, !given.contains("content-type") { lines.append("Content-Type:") }
        lines.append("Expect:")
        fieldLines = lines
    }
}

/// What all requests of one transport have in common.
struct CurlSettings: Sendable {
    var timeoutMilliseconds: Int
    var connectTimeoutMilliseconds: Int
    var maximumResponseBytes: Int
    /// How long a stream may stand still.
    var stallMilliseconds = 30_000
    var maximumHeadBytes = 64 * 1024
    /// A file of trusted certificates in place of the system's.
    var certificateAuthorities: String?
    /// In place of the environment's; empty for none.
    var proxy: ProxyAddress?
    /// Tried in this order.
    var libraryNames = ("libcurl.so.4", "libcurl-gnutls.so.4")
    /// How long a thread without work keeps its connections.
    var idleTime = Duration.seconds(60)
    /// How long libcurl may keep the thread from looking for new work before requests go to another one.
    var heldUpTimeout = Duration.seconds(10)
    /// How long the computer has slept so far, reckoned from any moment that stays the same.
    var timeAsleep: @Sendable () -> Duration = { [meter = SleepMeter()] in meter.timeAsleep }
    /// A newer libcurl is used as if it were this one (`0xXXYYZZ`).
    var newestLibraryVersion = UInt32.max

    /// libcurl counts in seconds.
    var stallSeconds: Int { max(1, (stallMilliseconds + 999) / 1000) }
}

extension Duration {
    /// Whole milliseconds, at least 1, because libcurl takes 0 as "for ever".
    var curlMilliseconds: Int {
        let (seconds, attoseconds) = components
        guard seconds < 1_000_000 else { return 1_000_000_000 }
        guard seconds >= 0 else { return 1 }
        return max(1, Int(seconds) * 1000 + Int(attoseconds / 1_000_000_000_000_000))
    }
}
