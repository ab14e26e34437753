// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import OAuthWire

@testable import IdentityClient
@testable import LoopbackHTTP

extension Reading {
    /// The bytes as they arrive at the loopback listener.
    static func redirectRequest(_ bytes: [UInt8]) {
        let parser = RequestParser(maximumHeadLength: 8192, maximumBodyLength: 65_536)
        guard case .complete(let request, let length, _) = parser.parse(bytes) else { return }
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
            guard case .redirect(let url) = outcome else { continue }
            precondition(url.absoluteString.hasPrefix("http://127.0.0.1:8400/callback?"), "another address")
            guard let query = url.query(percentEncoded: true), let items = try? FormURLEncoded.decode(query) else {
                continue
            }
            let again = try? FormURLEncoded.decode(FormURLEncoded.encode(items))
            precondition(again.map { $0.map(\.1) } == items.map(\.1), "a value changed by writing it")
            _ = try? AuthorizationResponse.parse(query: items)
        }
    }
}
