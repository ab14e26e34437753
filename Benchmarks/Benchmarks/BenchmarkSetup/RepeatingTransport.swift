// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
package import HTTPTypes
import IdentityClient
import Synchronization

/// A transport that sends the first refresh to the provider and repeats its answer for later refreshes, each with its
/// own tokens. The provider's work is not part of the measurement.
package final class RepeatingTransport: HTTPTransport {
    private let base: any HTTPTransport
    private let state = Mutex(State())

    private struct State {
        var grant: Grant?
        var grants = 0
        var namesPerson = false
    }

    init(_ base: any HTTPTransport) {
        self.base = base
    }

    /// Sets whether refreshes return an ID token, which the library then verifies.
    package func givesIDTokens(_ gives: Bool) {
        state.withLock { $0.namesPerson = gives }
    }

    /// The number of tokens requested.
    package var grants: Int { state.withLock { $0.grants } }

    package func send(_ request: HTTPRequest, body: [UInt8]?) async throws -> (HTTPResponse, [UInt8]) {
        guard let body, String(decoding: body.prefix(200), as: UTF8.self).contains("grant_type=refresh_token") else {
            return try await base.send(request, body: body)
        }
        if state.withLock({ $0.grant == nil }) {
            let (_, answer) = try await base.send(request, body: body)
            let grant = try JSONDecoder().decode(Grant.self, from: Data(answer))
            state.withLock { $0.grant = grant }
        }
        let (number, grant) = state.withLock { state in
            state.grants += 1
            return (state.grants, state.namesPerson ? state.grant : nil)
        }
        // An ID token names the access token that came with it.
        let token = grant?.accessToken ?? "\(number)-" + String(repeating: "t", count: 2000)
        let identity = grant.map { #","id_token":"\#($0.idToken)""# } ?? ""
        let answer =
            #"{"access_token":"\#(token)","refresh_token":"r\#(number)","token_type":"Bearer","expires_in":3600"#
        let fields: HTTPFields = [.contentType: "application/json"]
        return (HTTPResponse(status: .ok, headerFields: fields), Array((answer + identity + "}").utf8))
    }

    private struct Grant: Decodable {
        var accessToken: String
        var idToken: String

        enum CodingKeys: String, CodingKey {
            case accessToken = "access_token"
            case idToken = "id_token"
        }
    }
}
