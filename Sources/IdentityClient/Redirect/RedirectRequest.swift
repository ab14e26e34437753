// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import LoopbackHTTP
import OAuthWire

/// The kind of a request to the redirect address: the pure decision, without the wait.
enum RedirectRequest: Equatable {
    /// A redirect, as the registered address with its parameters in the query, and its response mode.
    case redirect(URL, ResponseMode)
    /// A request for the final page, whose address has no code.
    case donePage
    /// Another request; the wait goes on.
    case refused(status: Int)

    /// The kind of the awaited answer.
    enum Question: Hashable, Sendable {
        case signIn
        case signOut

        /// Whether the parameters belong to an answer. A browser's guess has none of them.
        func hasAnswer(in parameters: [UInt8]) -> Bool {
            switch self {
            case .signIn:  // RFC 6749 §4.1.2
                parameters.split(separator: UInt8(ascii: "&")).contains { parameter in
                    ["code=", "error="].contains { parameter.starts(with: $0.utf8) }
                }
            // RP-Initiated Logout §3: at most `state`. A return without `state` ends the wait too.
            case .signOut: true
            }
        }

        /// The same for the query of an address.
        func hasAnswer(in address: String) -> Bool {
            hasAnswer(in: Array(address.utf8.drop { $0 != UInt8(ascii: "?") }.dropFirst()))
        }
    }

    /// - Parameter responseMode: The requested response mode; the answer may come in another.
    init(
        _ request: LoopbackRequest,
        redirectURI: URL,
        port: UInt16,
        path: String,
        responseMode: ResponseMode,
        answers question: Question = .signIn
    ) {
        guard Self.isAddressed(request.headers, to: port) else {
            self = .refused(status: 400)
            return
        }
        guard request.path == path || path.isEmpty && request.path == "/" else {
            self = .refused(status: 404)
            return
        }
        guard Self.isNavigation(request.headers) else {
            self = .refused(status: 403)
            return
        }
        guard let arrival = responseMode.accepted.first(where: { $0.method == request.method }) else {
            self = .refused(status: 405)
            return
        }
        if arrival == .query, request.query == "done" {
            self = .donePage
            return
        }
        if arrival == .formPost, !Self.isForm(request.headers.values(of: "Content-Type")) {
            self = .refused(status: 415)
            return
        }
        let parameters = arrival == .query ? Array((request.query ?? "").utf8) : request.body
        guard question.hasAnswer(in: parameters), let query = Self.normalized(parameters),
            let url = URL(string: "\(redirectURI.absoluteString)?\(query)")
        else {
            self = .refused(status: 400)
            return
        }
        self = .redirect(url, arrival)
    }

    /// Whether a window navigates to the address. A browser reports frames, images and scripts; an older browser
    /// reports nothing.
    ///
    /// - SeeAlso: [Fetch Metadata Request Headers](https://www.w3.org/TR/fetch-metadata/)
    static func isNavigation(_ headers: LoopbackHeaders) -> Bool {
        (headers["Sec-Fetch-Dest"] ?? "document") == "document"
            && (headers["Sec-Fetch-Mode"] ?? "navigate") == "navigate"
    }

    /// Whether the client knows the port by a loopback name. A foreign name that points here (DNS rebinding) appears in `Host`.
    static func isAddressed(_ headers: LoopbackHeaders, to port: UInt16) -> Bool {
        let hosts = headers.values(of: "Host").map { $0.lowercased() }
        let names = ["localhost", "127.0.0.1", "[::1]"]
        return hosts.count == 1 && (names.map { "\($0):\(port)" } + (port == 80 ? names : [])).contains(hosts[0])
    }

    /// `application/x-www-form-urlencoded`, in UTF-8 if it names a charset.
    private static func isForm(_ types: [String]) -> Bool {
        guard types.count == 1 else { return false }
        let parts = types[0].lowercased().split(separator: ";").map {
            $0.filter { $0 != " " && $0 != "\t" && $0 != "\"" }
        }
        return parts.first == FormURLEncoded.contentType
            && parts.dropFirst().allSatisfy { !$0.hasPrefix("charset=") || $0 == "charset=utf-8" }
    }

    /// The parameters as the query of a URL, in their order, duplicates included; `nil` unless those that count as they
    /// were sent are UTF-8. Others are repaired.
    private static func normalized(_ parameters: [UInt8]) -> String? {
        var query: [String] = []
        for part in parameters.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false) {
            if let plain = plain(Array(part)) {
                query.append(plain)
            } else {
                let items = try? FormURLEncoded.decodeAnswer(
                    String(decoding: part.map(escapedIfNeeded).joined(), as: UTF8.self),
                    strict: AuthorizationResponse.strictParameters
                )
                guard let items, !items.isEmpty else { return nil }
                query.append(FormURLEncoded.encode(items))
            }
        }
        return query.joined(separator: "&")
    }

    /// A parameter, escaped where a URL needs it; `nil` unless it is UTF-8.
    private static func plain(_ parameters: [UInt8]) -> String? {
        var decoded: [UInt8] = []
        var query = ""
        var index = 0
        while index < parameters.count {
            let byte = parameters[index]
            if byte == UInt8(ascii: "%") {
                guard index + 2 < parameters.count, let high = PercentEncoding.hexValue(parameters[index + 1]),
                    let low = PercentEncoding.hexValue(parameters[index + 2])
                else { return nil }
                decoded.append(high << 4 | low)
                query += escaped(high << 4 | low)
                index += 3
                continue
            }
            decoded.append(byte)
            query += isPlain(byte) ? String(UnicodeScalar(byte)) : escaped(byte)
            index += 1
        }
        return String(validating: decoded, as: UTF8.self) == nil ? nil : query
    }

    /// RFC 3986 §3.4, without characters that browsers and parsers treat differently.
    private static func isPlain(_ byte: UInt8) -> Bool {
        byte.isAlphanumeric || "-._~!$&()*+,;=:@/?".utf8.contains(byte)
    }

    /// The byte, or its escape if a text could not have it.
    private static func escapedIfNeeded(_ byte: UInt8) -> [UInt8] { byte < 0x80 ? [byte] : Array(escaped(byte).utf8) }

    private static func escaped(_ byte: UInt8) -> String {
        let digits = [UInt8(ascii: "%"), PercentEncoding.hexDigit(byte >> 4), PercentEncoding.hexDigit(byte & 0xF)]
        return String(decoding: digits, as: UTF8.self)
    }
}
