// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Crypto
import FoundationEssentials
import OAuthWire

extension TestIdentityProvider {
    /// Whether the provider binds tokens to a key (RFC 9449), and which nonce it demands.
    ///
    /// ```swift
    /// provider.settings.dpop = TestIdentityProvider.DPoP(isRequired: true, nonce: "n-1")
    /// ```
    public struct DPoP: Hashable, Sendable {
        /// Whether a request without a proof is refused; otherwise it gets a bearer token.
        public var isRequired: Bool
        /// The nonce that proofs have to name, at the provider and at its API; `nil` for none. Change it, and the next request
        /// is refused with the new one.
        public var nonce: String?
        /// Whether the answers announce the nonce, those of success too.
        public var announcesNonce = true

        /// A provider that binds tokens.
        public init(isRequired: Bool = false, nonce: String? = nil) {
            self.isRequired = isRequired
            self.nonce = nonce
        }
    }
}

extension ProviderState {
    /// Returns the thumbprint of the key whose possession a request proves; `nil` for a request without a proof, where that is
    /// allowed.
    ///
    /// - SeeAlso: [RFC 9449 §4.3](https://www.rfc-editor.org/rfc/rfc9449#section-4.3)
    func provenKey(_ request: ProviderCall, path: String, accessToken: String? = nil) throws(Refusal) -> String? {
        guard let dpop = settings.dpop else { return nil }
        let proofs = request.message.headers.filter { $0.0.lowercased() == "dpop" }
        guard let proof = proofs.first?.1 else {
            guard !dpop.isRequired else { throw Refusal("invalid_dpop_proof", "There is no proof.") }
            return nil
        }
        guard proofs.count == 1, let (header, claims, thumbprint) = Self.verified(proof),
            header.string("typ") == "dpop+jwt", claims.string("htm") == request.method,
            claims.string("htu") == request.address.origin + path, (claims.string("jti")?.utf8.count ?? 0) >= 16,
            let time = claims.integer("iat"), abs(Double(time) - request.now.timeIntervalSince1970) <= 25
        else { throw Refusal("invalid_dpop_proof", "The proof is not accepted.") }
        if let accessToken {
            let hash = Base64URL.encode(Array(SHA256.hash(data: Array(accessToken.utf8))))
            guard claims.string("ath") == hash else {
                throw Refusal("invalid_dpop_proof", "The proof is of another token.")
            }
        }
        guard dpop.nonce == nil || claims.string("nonce") == dpop.nonce else {
            throw Refusal("use_dpop_nonce", "A nonce is demanded.")
        }
        return thumbprint
    }

    private static func verified(_ proof: String) -> (header: JSONObject, claims: JSONObject, thumbprint: String)? {
        let parts = proof.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        let bytes = parts.compactMap { Base64URL.decode($0) }
        guard bytes.count == 3, let header = try? JSONObject(parsing: bytes[0]),
            let claims = try? JSONObject(parsing: bytes[1]), header.string("alg") == "ES256",
            let key = header.object("jwk"), key.string("kty") == "EC", key.string("crv") == "P-256", key["d"] == nil,
            let x = key.string("x").flatMap({ Base64URL.decode($0) }),
            let y = key.string("y").flatMap({ Base64URL.decode($0) }),
            let publicKey = try? P256.Signing.PublicKey(rawRepresentation: x + y),
            let signature = try? P256.Signing.ECDSASignature(rawRepresentation: bytes[2]),
            publicKey.isValidSignature(signature, for: Array("\(parts[0]).\(parts[1])".utf8))
        else { return nil }
        let text = #"{"crv":"P-256","kty":"EC","x":"\#(Base64URL.encode(x))","y":"\#(Base64URL.encode(y))"}"#
        return (header, claims, Base64URL.encode(Array(SHA256.hash(data: Array(text.utf8)))))
    }

    /// Redeems what a request has, and binds what it gives to the key that the request proves.
    mutating func redeemBound(_ request: ProviderCall) throws(Refusal) -> TokenIssue {
        guard settings.dpop != nil else { return try redeem(request) }
        let key = try provenKey(request, path: request.message.path)
        if let token = request["refresh_token"], let bound = refreshTokens[token]?.authorization.boundKey, bound != key
        {
            throw Refusal("invalid_grant", "The refresh token is bound to another key.")
        }
        if let code = request["code"], let bound = codes[code]?.boundKey, bound != key {
            throw Refusal("invalid_grant", "The code is bound to another key.")
        }
        var issue = try redeem(request)
        guard let key else { return issue }
        issue.tokenType = "DPoP"
        if let token = issue.accessToken { accessTokens[token]?.keyID = key }
        if let token = issue.refreshToken { refreshTokens[token]?.authorization.boundKey = key }
        return issue
    }
}
