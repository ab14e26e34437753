// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import OAuthWire

@testable import IdentityClient
@testable import LoopbackHTTP

extension Reading {
    /// The bytes as they arrive at the loopback listener.
    static func redirectRequest(_ bytes: [UInt8]) {
        let parser = RequestParser(LoopbackServer.Limits())
        var progress = RequestParser.Progress()
        let step = parser.parse(bytes, &progress)
        compare(step, with: inTwoPieces(bytes, parser))
        guard case .complete(let request, let length, _) = step else { return }
        precondition(length > 0 && length <= bytes.count, "a request longer than what arrived")
        guard let address = URL(string: "http://127.0.0.1:8400/callback") else {
            preconditionFailure("the fixed address is not taken")
        }
        for mode in ResponseMode.allCases {
            let outcome = RedirectRequest(
                request,
                redirectURI: address,
                port: 8400,
                path: "/callback",
                responseMode: mode
            )
            guard case .redirect(let url, let arrival) = outcome else { continue }
            precondition(request.method == arrival.method, "another way than it came")
            precondition(mode == .formPost || arrival == .query, "a form where the query was asked for")
            precondition(url.absoluteString.hasPrefix("http://127.0.0.1:8400/callback?"), "another address")
            guard let query = url.query(percentEncoded: true), let items = try? FormURLEncoded.decode(query) else {
                continue
            }
            let again = try? FormURLEncoded.decode(FormURLEncoded.encode(items))
            precondition(again.map { $0.map(\.1) } == items.map(\.1), "a value changed by writing it")
            _ = try? AuthorizationResponse.parse(query: items)
        }
    }

    /// The same bytes in two halves; `nil` if the first half is enough for an answer.
    private static func inTwoPieces(_ bytes: [UInt8], _ parser: RequestParser) -> RequestParser.Step? {
        var progress = RequestParser.Progress()
        guard case .incomplete = parser.parse(Array(bytes.prefix(bytes.count / 2)), &progress) else { return nil }
        return parser.parse(bytes, &progress)
    }

    private static func compare(_ whole: RequestParser.Step, with pieces: RequestParser.Step?) {
        switch (whole, pieces) {
        case (_, nil): break
        case (.incomplete, .incomplete): break
        case (.refused(let status), .refused(let other)): precondition(status == other, "another refusal")
        case (.complete(let request, let length, let keepsAlive), .complete(let other, let otherLength, let otherWish)):
            precondition(length == otherLength && keepsAlive == otherWish, "another end of the request")
            precondition(request.target == other.target && request.headers == other.headers, "another head")
            precondition(request.body == other.body, "another body")
        default: preconditionFailure("the pieces make another request than the whole")
        }
    }
}
