// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Crypto
import CryptoExtras
import Foundation
package import IdentityTesting
package import LoopbackHTTP
package import OAuthWire

/// An API's check of a signed request, written apart from the code that signs.
package struct SignedRequestCheck {
    private let provider: TestIdentityProvider
    private let now: Int64

    package init(provider: TestIdentityProvider, now: Int64) {
        self.provider = provider
        self.now = now
    }

    /// The first part that is wrong.
    package enum Failure: Error {
        case scheme, header, key, signature, token, time, method, host, path, query, nonce
    }

    package static func claims(_ authorization: String) throws -> JSONObject {
        guard authorization.hasPrefix("PoP ") else { throw Failure.scheme }
        return try JSONWebToken(compact: String(authorization.dropFirst(4))).claims
    }

    package func check(_ request: LoopbackRequest, nonce: String?) throws {
        guard let text = request.headers["Authorization"], text.hasPrefix("PoP ") else { throw Failure.scheme }
        let parts = text.dropFirst(4).split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3, let header = object(parts[0]), let claims = object(parts[1]),
            let signature = bytes(parts[2])
        else { throw Failure.header }
        guard header.string("alg") == "PS256", header.string("typ") == "pop" else { throw Failure.header }

        guard let jwk = claims.object("cnf")?.object("jwk"), let n = jwk.string("n"), let e = jwk.string("e"),
            let modulus = bytes(n), let exponent = bytes(e)
        else { throw Failure.key }
        let thumbprint = hash(#"{"e":"\#(e)","kty":"RSA","n":"\#(n)"}"#)
        guard header.string("kid") == thumbprint else { throw Failure.key }
        let key = try _RSA.Signing.PublicKey(n: modulus, e: exponent)
        let signed = SHA256.hash(data: Data("\(parts[0]).\(parts[1])".utf8))
        guard key.isValidSignature(.init(rawRepresentation: signature), for: signed, padding: .PSS) else {
            throw Failure.signature
        }

        guard let token = claims.string("at"), let known = provider.introspect(accessToken: token),
            known.keyID == thumbprint
        else { throw Failure.token }
        guard let time = claims.integer("ts"), abs(Int64(time) - now) <= 300 else { throw Failure.time }
        guard claims.string("m") == request.method else { throw Failure.method }
        guard claims.string("u") == request.headers["Host"] else { throw Failure.host }
        let target = request.target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).map(
            String.init
        )
        guard claims.string("p") == target[0] else { throw Failure.path }
        guard try isRight(claims.array("q"), target.count > 1 ? target[1] : "") else { throw Failure.query }
        guard claims.string("nonce") == nonce else { throw Failure.nonce }
    }

    /// Whether the claim covers all parameters that occur once.
    private func isRight(_ claim: [JSONValue]?, _ query: String) throws -> Bool {
        guard let claim, claim.count == 2, case .array(let names) = claim[0] else { return false }
        let pairs = query.split(separator: "&").map { ($0.prefix { $0 != "=" }, $0) }
        let once = pairs.filter { pair in pairs.filter { $0.0 == pair.0 }.count == 1 }
        return names.compactMap(\.string) == once.map { String($0.0) }
            && claim[1].string == hash(once.map { String($0.1) }.joined(separator: "&"))
    }

    private func hash(_ text: String) -> String { encoded(Data(SHA256.hash(data: Data(text.utf8)))) }

    private func encoded(_ data: Data) -> String {
        data.base64EncodedString().replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
            .replacingOccurrences(of: "=", with: "")
    }

    private func bytes(_ text: String) -> Data? {
        let plain = text.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        return Data(base64Encoded: plain + String(repeating: "=", count: (4 - plain.count % 4) % 4))
    }

    private func object(_ text: String) -> JSONObject? {
        bytes(text).flatMap { try? JSONObject(parsing: Array($0)) }
    }
}
