// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
package import LoopbackHTTP

/// A request that is passed on.
package struct ForwardedRequest: Sendable {
    package let method: String
    let target: String
    let length: BodyLength
    /// The lines that go to the server as they are.
    let lines: [UInt8]
    /// The address by which the client knows the forwarder.
    let origin: String
    let isLatest: Bool
    let waitsForContinue: Bool
    /// Whether the client's connection may take another request.
    let keepsAlive: Bool

    /// Whether the server may get it twice.
    var isIdempotent: Bool { ["GET", "HEAD", "OPTIONS", "PUT", "DELETE"].contains(method) }
    var path: String { String(target.prefix { $0 != "?" }) }
}

/// An answer that is passed on.
package struct ForwardedAnswer: Sendable {
    let status: Int
    /// The head for the client.
    let head: [UInt8]
    let length: BodyLength
    /// Whether the client gets chunks.
    let hasChunks: Bool
    /// Whether the client's connection ends after it.
    let closes: Bool
    /// Whether the server's connection may take another request.
    let keepsUpstream: Bool
}

/// Decides which requests pass, and makes the heads of what passes. No head passes as it came.
package struct ForwardingRules: Sendable {
    let route: ForwardingRoute
    private let place: ForwardingRoute.Place
    /// The values of `Host` for this place; for a socket, of any loopback address.
    private let hosts: Set<String>
    private let phantom: [UInt8]

    package init(_ route: ForwardingRoute, at place: ForwardingRoute.Place) {
        self.route = route
        self.place = place
        phantom = Array(route.phantom.utf8)
        let names = ["127.0.0.1", "[::1]", "localhost"]
        hosts =
            switch place {
            case .port(let port): Set(names.map { "\($0):\(port)" } + (port == 80 ? names : []))
            case .socket: [route.authority]
            }
    }

    /// Whether the client's program must be this user's.
    var asksForUser: Bool { place == .socket ? route.access == .user : route.access != .phantom }

    /// Checks a request, and takes off what is the client's own.
    package func request(_ head: MessageHead) throws(ForwardingProblem) -> ForwardedRequest {
        guard case .request(let method, let target) = head.start, method != "TRACE" else {
            throw ForwardingProblem(MessageProblem.method)
        }
        let (length, path) = try reading { () throws(MessageProblem) in
            (try head.requestLength(), try ForwardedPath(target))
        }
        guard !target.utf8.isHolding(phantom) else { throw ForwardingProblem(.malformed) }
        let host = try self.host(of: head)
        try refuseBrowsers(head)
        if route.access != .user { try checkPhantom(head) }
        try checkPermission(path, method)
        let expectations = head.values(of: "expect")
        guard expectations.allSatisfy({ $0.lowercased() == "100-continue" }) else {
            throw ForwardingProblem(.expectation)
        }
        let origin = "http://\(host)"
        var lines = try self.lines(of: head, method, origin)
        if length != .bytes(0) || !head.values(of: "content-length").isEmpty { lines += Self.line(for: length) }
        return ForwardedRequest(
            method: method,
            target: target,
            length: length,
            lines: lines,
            origin: origin,
            isLatest: head.isLatest,
            waitsForContinue: !expectations.isEmpty && head.isLatest,
            keepsAlive: head.isLatest && !head.words(of: "connection").contains("close")
        )
    }

    /// The head for the server.
    ///
    /// The token is set last, when everything of the client is gone: no field of the client takes it away, or adds another.
    package func head(of request: ForwardedRequest, token: String) throws(ForwardingProblem) -> [UInt8] {
        guard !token.isEmpty, HeadParser.areVisible(token.utf8) else {
            throw ForwardingProblem(.refusedByPolicy, "The provider gave a token that cannot be sent.")
        }
        var head = Array("\(request.method) \(request.target) HTTP/1.1\r\nHost: \(route.authority)\r\n".utf8)
        head.reserveCapacity(head.count + request.lines.count + token.utf8.count + 64)
        head += request.lines
        let field = route.tokenField
        head += "\(field.name): \(field.before)\(token)\(field.after)\r\n\r\n".utf8
        return head
    }

    /// Checks an answer, and makes the head for the client.
    ///
    /// - Parameter isRefused: Whether the server has refused a fresh token: then the client sees 403, since it has no other.
    package func answer(
        _ head: MessageHead,
        to request: ForwardedRequest,
        isRefused: Bool = false
    ) throws(ForwardingProblem) -> ForwardedAnswer {
        guard case .answer(let received, let reason) = head.start, received >= 200,
            let length = try? head.answerLength(to: request.method)  // the reason is of no use to the client
        else { throw Self.badAnswer }
        let status = isRefused ? 403 : received
        let hasBody = !(request.method == "HEAD" || status == 204 || status == 304)
        let hasChunks = hasBody && request.isLatest && (length == .chunked || length == .untilClose)
        var isCounted = false
        if case .bytes = length { isCounted = true }
        let closes = !request.keepsAlive || hasBody && !isCounted && !hasChunks
        var bytes = Array("HTTP/1.1 \(status) ".utf8)
        bytes.reserveCapacity(head.bytes.count + 64)
        bytes += isRefused ? Array(ForwardingProblem.Code.refusedByServer.rawValue.utf8)[...] : head.bytes[reason]
        bytes += "\r\n".utf8
        let named = head.words(of: "connection")
        for field in head.fields where !isOfConnection(field.name, named) {
            switch field.name {
            case "content-length" where hasBody || status == 204, "alt-svc": continue
            case "set-cookie" where !route.passesCookies: continue
            case "www-authenticate" where isRefused: continue
            case let name where name.hasPrefix("access-control-"): continue
            case "location", "content-location":
                append(
                    field,
                    of: head,
                    moved(head.bytes[field.value], from: route.origin, to: request.origin),
                    to: &bytes
                )
            case "link":
                append(
                    field,
                    of: head,
                    linked(head.bytes[field.value], from: route.origin, to: request.origin),
                    to: &bytes
                )
            default: append(field, of: head, head.bytes[field.value], to: &bytes)
            }
        }
        if hasChunks || hasBody && isCounted { bytes += Self.line(for: hasChunks ? .chunked : length) }
        if isRefused { bytes += "x-should-retry: false\r\n".utf8 }
        bytes += closes ? "Connection: close\r\n\r\n".utf8 : "\r\n".utf8
        return ForwardedAnswer(
            status: status,
            head: bytes,
            length: length,
            hasChunks: hasChunks,
            closes: closes,
            keepsUpstream: head.isLatest && length != .untilClose && !named.contains("close")
        )
    }

    static let badAnswer = ForwardingProblem(
        .upstreamBadAnswer,
        "The server's answer cannot be read. Ask whoever runs the server."
    )
}

// What a client must be and show.
extension ForwardingRules {
    /// A name that the browser's DNS was told leads here has another host.
    private func host(of head: MessageHead) throws(ForwardingProblem) -> String {
        guard let written = head.values(of: "host").first else { throw ForwardingProblem(.malformed) }
        let host = written.lowercased()
        guard hosts.contains(host) || place == .socket && Self.isLoopback(host) else {
            throw ForwardingProblem(.notThisHost, "The forwarder does not answer for this host name.")
        }
        return host
    }

    private static func isLoopback(_ host: String) -> Bool {
        var name = host[...]
        if let colon = host.lastIndex(of: ":"),
            host[host.index(after: colon)...].utf8.allSatisfy({ (0x30...0x39).contains($0) })
        {
            name = host[..<colon]
        }
        if name == "localhost" || name == "[::1]" { return true }
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }

    /// Pages of a browser send such fields. Node's own `fetch` sends `Sec-Fetch-Mode`, so that one does not count.
    private func refuseBrowsers(_ head: MessageHead) throws(ForwardingProblem) {
        let isBare = route.access == .user && place != .socket
        for field in head.fields {
            let isOfBrowser =
                switch field.name {
                case "origin": true
                case "sec-fetch-site": isBare || head.text(field.value) != "none"
                case "referer", "cookie": isBare
                default: false
                }
            if isOfBrowser {
                throw ForwardingProblem(
                    .browser,
                    "The forwarder is for programs. It does not answer a page of a browser."
                )
            }
        }
    }

    private func checkPhantom(_ head: MessageHead) throws(ForwardingProblem) {
        var isGiven = false
        for field in head.fields where Self.credentials.contains(field.name) {
            isGiven = true
            if shown(head.bytes[field.value], in: field.name).isSame(as: phantom) { return }
        }
        let advice = "Show the forwarder's own word as the password or token: identityctl forward address \(route.name)"
        throw ForwardingProblem(isGiven ? .phantomWrong : .phantomMissing, advice)
    }

    /// The word in a credential field: behind a scheme, as a password of Basic, as its name without a password, or alone.
    private func shown(_ value: ArraySlice<UInt8>, in name: String) -> [UInt8] {
        guard name == "authorization", let space = value.firstIndex(of: 0x20) else { return Array(value) }
        let rest = value[space...].drop { $0 == 0x20 }
        guard String(decoding: value[..<space], as: UTF8.self).lowercased() == "basic" else { return Array(rest) }
        guard let pair = Data(base64Encoded: Data(rest)), let colon = pair.firstIndex(of: 0x3A) else { return [] }
        let password = pair[(colon + 1)...]
        let isName = password.isEmpty || password.elementsEqual("x-oauth-basic".utf8)
        return Array(isName ? pair[..<colon] : password)
    }

    private func checkPermission(_ path: ForwardedPath, _ method: String) throws(ForwardingProblem) {
        let isAllowed =
            route.allowed.isEmpty || route.allowed.contains { $0.methods.contains(method) && path.isBelow($0.path) }
        guard isAllowed, path.isBelow(route.path) else {
            throw ForwardingProblem(.notAllowed, "The profile's 'forward' lines do not allow this method and path.")
        }
    }
}

// What is taken off.
extension ForwardingRules {
    private static let credentials: Set<String> = [
        "authorization", "x-api-key", "api-key", "x-goog-api-key", "private-token", "x-identity-header",
    ]
    /// The forwarder says nothing of the client, and no client says anything in its place.
    private static let untold: Set<String> = [
        "content-length", "expect", "forwarded", "host", "referer", "via", "x-http-method", "x-http-method-override",
        "x-method-override", "x-real-ip", "x-rewrite-url",
    ]
    private static let ofConnection: Set<String> = [
        "connection", "http2-settings", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade",
    ]

    private func isOfConnection(_ name: String, _ named: [String]) -> Bool {
        Self.ofConnection.contains(name) || name.hasPrefix("proxy-") || named.contains(name)
    }

    /// The client's lines that go to the server. Some servers read `_` in a name as `-`.
    private func lines(of head: MessageHead, _ method: String, _ origin: String) throws(ForwardingProblem) -> [UInt8] {
        var lines: [UInt8] = []
        lines.reserveCapacity(head.bytes.count)
        let named = head.words(of: "connection")
        let tokenName = route.tokenField.name.lowercased()
        for field in head.fields {
            let name =
                field.name.utf8.contains(0x5F)
                ? String(field.name.map { $0 == "_" ? "-" : $0 }) : field.name
            let isTakenOff =
                isOfConnection(name, named) || named.contains(field.name) || Self.credentials.contains(name)
                || Self.untold.contains(name) || name == tokenName || name.hasPrefix("x-forwarded-")
                || name.hasPrefix("x-original-") || name == "cookie" && !route.passesCookies
            let value = head.bytes[field.value]
            if isTakenOff || value.isHolding(phantom) { continue }
            switch name {
            case "destination":
                append(field, of: head, try destination(value, method, origin), to: &lines)
            case "if":
                append(field, of: head, linked(value, from: origin, to: route.origin), to: &lines)
            default: append(field, of: head, value, to: &lines)
            }
        }
        return lines
    }

    /// The place to which a WebDAV method copies or moves: it must be allowed as the path is.
    private func destination(
        _ value: ArraySlice<UInt8>,
        _ method: String,
        _ origin: String
    ) throws(ForwardingProblem) -> ArraySlice<UInt8> {
        let moved = moved(value, from: origin, to: route.origin)
        let text = String(decoding: moved, as: UTF8.self)
        let path = text.hasPrefix(route.origin) ? text.dropFirst(route.origin.count) : text[...]
        try checkPermission(try reading { () throws(MessageProblem) in try ForwardedPath(path) }, method)
        return moved
    }

    private func reading<Result>(_ read: () throws(MessageProblem) -> Result) throws(ForwardingProblem) -> Result {
        do { return try read() } catch { throw ForwardingProblem(error) }
    }

    private func append(
        _ field: MessageHead.Field,
        of head: MessageHead,
        _ value: ArraySlice<UInt8>,
        to lines: inout [UInt8]
    ) {
        lines += head.bytes[field.written]
        lines += ": ".utf8
        lines += value
        lines += "\r\n".utf8
    }

    private static func line(for length: BodyLength) -> [UInt8] {
        switch length {
        case .bytes(let count): Array("Content-Length: \(count)\r\n".utf8)
        case .chunked: Array("Transfer-Encoding: chunked\r\n".utf8)
        case .untilClose: []
        }
    }

    /// All addresses in brackets of one origin as those of another.
    private func linked(_ value: ArraySlice<UInt8>, from origin: String, to other: String) -> ArraySlice<UInt8> {
        let (old, new) = (Array("<\(origin)/".utf8), Array("<\(other)/".utf8))
        var (result, rest) = ([UInt8](), value)
        while let range = rest.firstRange(of: old) {
            result += rest[..<range.lowerBound] + new
            rest = rest[range.upperBound...]
        }
        return (result + rest)[...]
    }

    /// An address of one origin as the same of another; others stay.
    private func moved(_ address: ArraySlice<UInt8>, from origin: String, to other: String) -> ArraySlice<UInt8> {
        guard address.starts(with: origin.utf8) else { return address }
        let rest = address.dropFirst(origin.utf8.count)
        guard rest.isEmpty || [0x2F, 0x3F, 0x23].contains(rest.first) else { return address }
        return (Array(other.utf8) + rest)[...]
    }
}

extension Collection<UInt8> {
    /// Whether the bytes are the same, in a time that does not tell how many are.
    fileprivate func isSame(as other: [UInt8]) -> Bool {
        guard count == other.count, !other.isEmpty else { return false }
        return zip(self, other).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }

    fileprivate func isHolding(_ word: [UInt8]) -> Bool {
        !word.isEmpty && count >= word.count && Array(self).firstRange(of: word) != nil
    }
}
