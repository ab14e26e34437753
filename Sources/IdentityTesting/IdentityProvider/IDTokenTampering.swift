// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// A defect of an ID token.
///
/// ```swift
/// provider.tamperNextIDToken(with: .nonce(nil))
/// ```
public struct IDTokenTampering: Sendable {
    enum Kind: Sendable {
        case claim(String, JSONValue?)
        case expired
        case algorithm(String)
        case keyID(String?)
        case otherKey
        case brokenSignature
    }

    let kinds: [Kind]

    private init(_ kinds: Kind...) { self.init(kinds: kinds) }

    private init(kinds: [Kind]) { self.kinds = kinds }

    /// Another issuer (`iss`).
    public static func issuer(_ issuer: String) -> Self { Self(.claim("iss", .string(issuer))) }

    /// Another audience (`aud`), an array.
    public static func audience(_ audience: [String]) -> Self { Self(.claim("aud", .strings(audience))) }

    /// An audience of several clients, and the authorized party (`aud`, `azp`).
    public static func audience(_ audience: [String], authorizedParty: String) -> Self {
        Self(.claim("aud", .strings(audience)), .claim("azp", .string(authorizedParty)))
    }

    /// Another nonce, or none.
    public static func nonce(_ nonce: String?) -> Self { Self(.claim("nonce", nonce.map { .string($0) })) }

    /// Another subject (`sub`).
    public static func subject(_ subject: String) -> Self { Self(.claim("sub", .string(subject))) }

    /// Another access token's hash (`at_hash`).
    public static let accessTokenHash = Self(.claim("at_hash", .string(TokenResponseBuilder.halfHash("another token"))))

    /// Expired more than an hour ago.
    public static let expired = Self(.expired)

    /// Another algorithm in the header. `none` comes without a signature; every other algorithm keeps the RS256
    /// signature.
    public static func algorithm(_ algorithm: String) -> Self { Self(.algorithm(algorithm)) }

    /// Another key identifier in the header, or none; the signature is valid.
    public static func keyID(_ keyID: String?) -> Self { Self(.keyID(keyID)) }

    /// Signed with a key that the provider never published, under the name of a published key.
    public static let unpublishedKey = Self(.otherKey)

    /// One bit of the signature is wrong.
    public static let brokenSignature = Self(.brokenSignature)

    /// A claim with another text, or without the claim.
    public static func claim(_ name: String, _ text: String?) -> Self { Self(.claim(name, text.map { .string($0) })) }

    /// A claim with an array of texts.
    public static func claim(_ name: String, _ texts: [String]) -> Self { Self(.claim(name, .strings(texts))) }

    /// Several defects in one token.
    public static func all(_ tamperings: Self...) -> Self { Self(kinds: tamperings.flatMap(\.kinds)) }

    func token(_ claims: JSONObject, key: SigningKey) throws -> String {
        var claims = claims
        var header = JSONObject([("alg", .string("RS256")), ("typ", .string("JWT")), ("kid", .string(key.keyID))])
        var key = key
        var breaksSignature = false
        for kind in kinds {
            switch kind {
            case .claim(let name, let value): claims[name] = value
            case .expired:
                let now = claims["iat"]?.roundedDown ?? 0
                for (name, offset) in [("iat", -10_800), ("nbf", -10_800), ("exp", -7_200)] as [(String, Int64)] {
                    claims[name] = .integer(now + offset)
                }
            case .algorithm(let name): header["alg"] = .string(name)
            case .keyID(let keyID): header["kid"] = keyID.map { .string($0) }
            case .otherKey: key = try SigningKey.unpublished()
            case .brokenSignature: breaksSignature = true
            }
        }
        let input = JSONWebToken.signingInput(header: header, claims: claims)
        guard header.string("alg") != "none" else { return input + "." }
        var signature = try key.signature(of: input)
        if breaksSignature, !signature.isEmpty { signature[signature.count / 2] ^= 1 }
        return JSONWebToken.compact(signingInput: input, signature: signature)
    }
}
