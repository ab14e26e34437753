// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import LoopbackHTTP
import OAuthWire

/// What one request to the redirect address is: the pure decision, without the wait.
enum RedirectRequest: Equatable {
    /// A redirect, as the registered address with its parameters in the query, and how they came.
    case redirect(URL, ResponseMode)
    /// The address the browser is sent to, so that the code leaves its address bar.
    case donePage
    /// Not for us; the wait goes on.
    case refused(status: Int)

    /// What is waited for.
    enum Question: Hashable, Sendable {
        case signIn
        case signOut

        /// Whether the parameters are those of an answer. A browser's guess has none of them.
        func isAnswered(by parameters: [UInt8]) -> Bool {
            switch self {
            case .signIn:  // RFC 6749 §4.1.2
                parameters.split(separator: UInt8(ascii: "&")).contains { parameter in
                    ["code=", "error="].contains { parameter.starts(with: $0.utf8) }
                }
            // RP-Initiated Logout §3: `state` at most. A return without it ends the wait, too.
            case .signOut: true
            }
        }

        /// The same for the query of an address.
        func isAnswered(by address: String) -> Bool {
            isAnswered(by: Array(address.utf8.drop { $0 != UInt8(ascii: "?") }.dropFirst()))
        }
    }

    /// - Parameter responseMode: What was asked for, which is not always how the answer comes.
    init(
        _ request: LoopbackRequest,
        redirectURI: URL,
        port: UInt16,
        path: String,
        responseMode: ResponseMode,
        answers question: Question = .signIn
    ) {
        // A name that another site lets point here (DNS rebinding) shows in `Host`.
        guard let host = request.headers["Host"]?.lowercased(), Self.hosts(port).contains(host) else {
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
        guard question.isAnswered(by: parameters), let query = Self.normalized(parameters),
            let url = URL(string: "\(redirectURI.absoluteString)?\(query)")
        else {
            self = .refused(status: 400)
            return
        }
        self = .redirect(url, arrival)
    }

    /// Whether a window goes to the address. A browser says so if it is a frame, an image or a script instead; an older one
    /// says nothing.
    ///
    /// - SeeAlso: [Fetch Metadata Request Headers](https://www.w3.org/TR/fetch-metadata/)
    static func isNavigation(_ headers: LoopbackHeaders) -> Bool {
        (headers["Sec-Fetch-Dest"] ?? "document") == "document"
            && (headers["Sec-Fetch-Mode"] ?? "navigate") == "navigate"
    }

    private static func hosts(_ port: UInt16) -> [String] {
        let names = ["localhost", "127.0.0.1", "[::1]"]
        return names.map { "\($0):\(port)" } + (port == 80 ? names : [])
    }

    /// `application/x-www-form-urlencoded`, in UTF-8 if it says.
    private static func isForm(_ types: [String]) -> Bool {
        guard types.count == 1 else { return false }
        let parts = types[0].lowercased().split(separator: ";").map {
            $0.filter { $0 != " " && $0 != "\t" && $0 != "\"" }
        }
        return parts.first == FormURLEncoded.contentType
            && parts.dropFirst().allSatisfy { !$0.hasPrefix("charset=") || $0 == "charset=utf-8" }
    }

    /// The parameters as the query of a URL, in their order, duplicates included; `nil` unless they are UTF-8.
    private static func normalized(_ parameters: [UInt8]) -> String? {
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

    /// RFC 3986 §3.4, without what browsers and parsers treat in their own ways.
    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "-._~!$&()*+,;=:@/?".utf8.contains(byte)
        }
    }

    private static func escaped(_ byte: UInt8) -> String {
        let digits = [UInt8(ascii: "%"), PercentEncoding.hexDigit(byte >> 4), PercentEncoding.hexDigit(byte & 0xF)]
        return String(decoding: digits, as: UTF8.self)
    }
}
