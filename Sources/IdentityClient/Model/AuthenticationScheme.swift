// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

package import HTTPTypes
import OAuthWire

/// The way in which an access token is shown to an API, or to a server.
///
/// ```swift
/// var parameters = SilentParameters(scopes: scopes, account: account)
/// parameters.scheme = .pop
/// let result = try await app.acquireTokenSilently(parameters)
/// request.headerFields[.authorization] = try result.authorizationHeader(for: request)
/// ```
///
/// An account can have tokens of several schemes at the same time. A token of one scheme never answers a request for
/// another.
public struct AuthenticationScheme: Hashable, Sendable, CustomStringConvertible {
    fileprivate enum Kind: Hashable { case bearer, pop, dpop, sshCertificate(SSHRSAKey) }

    fileprivate let kind: Kind

    /// Any holder of the token may use it. Every API accepts this, unless its provider's policy demands more.
    ///
    /// - SeeAlso: [RFC 6750](https://www.rfc-editor.org/rfc/rfc6750)
    public static let bearer = AuthenticationScheme(kind: .bearer)

    /// The token is bound to a key that the program keeps in its cache, and each request is signed with the key:
    /// Microsoft's signed HTTP requests. A stolen token is useless without the key.
    ///
    /// For APIs that accept it, and providers that issue such tokens, as Entra ID does. If the provider answers with a
    /// bearer token, the acquisition fails with `.unsupported`. An identity broker is asked for a token that is bound to the
    /// same key, and counts as unusable if its token is not.
    ///
    /// - SeeAlso: [Access token proof-of-possession](https://learn.microsoft.com/entra/msal/dotnet/advanced/proof-of-possession-tokens)
    public static let pop = AuthenticationScheme(kind: .pop)

    /// The token is bound to the key of its sign-in, and each request has a proof of that key
    /// (``AuthenticationResult/authorize(_:nonce:)``). No request asks for it: all tokens of an authority are so
    /// (``ClientConfiguration/dpop``), its refresh token too. A stolen token is useless without the key.
    ///
    /// ```swift
    /// if result.scheme == .dpop { try result.authorize(&request) }
    /// ```
    /// - SeeAlso: [RFC 9449](https://www.rfc-editor.org/rfc/rfc9449)
    public static let dpop = AuthenticationScheme(kind: .dpop)

    /// The token is an SSH certificate of Entra ID for the person's own key, for ``AuthenticationResult/sshCertificate``. It
    /// is shown to servers by `ssh`, and to no API.
    ///
    /// ```swift
    /// guard let scope = authority.sshCertificateScope else { return }
    /// var parameters = SilentParameters(scopes: [scope], account: account)
    /// parameters.scheme = .sshCertificate(for: key)
    /// let line = try await app.acquireTokenSilently(parameters).sshCertificate?.line
    /// ```
    ///
    /// The acquisition checks that the answer is a certificate for this key that is valid now. It fails with
    /// `.unsupported` at other providers than Entra ID, and if Entra ID answers with a bearer token, and with
    /// `.malformedResponse` for any other certificate. An identity broker is not asked. The private key stays where it is:
    /// the library needs and reads the public key only.
    ///
    /// - SeeAlso: [Sign in to a Linux machine with Entra ID and OpenSSH](https://learn.microsoft.com/entra/identity/devices/howto-vm-sign-in-azure-ad-linux)
    public static func sshCertificate(for key: SSHPublicKey) -> AuthenticationScheme {
        AuthenticationScheme(kind: .sshCertificate(key.key))
    }

    /// The type of the tokens: `Bearer`, `PoP`, `DPoP`, `ssh-cert`. The first three are also the scheme's name in the `Authorization`
    /// header.
    public var description: String {
        switch kind {
        case .bearer: "Bearer"
        case .pop: "PoP"
        case .dpop: "DPoP"
        case .sshCertificate: Self.sshCertificateType
        }
    }

    static let sshCertificateType = "ssh-cert"

    /// Compares nothing but the case, for the way of a hit.
    package var isBearer: Bool { if case .bearer = kind { true } else { false } }

    /// The key to certify; `nil` for other schemes.
    var sshKey: SSHRSAKey? { if case .sshCertificate(let key) = kind { key } else { nil } }

    /// A server's nonce for the next proof (DPoP): visible ASCII of at most 2,048 bytes.
    package static func nonceField(in fields: HTTPFields) -> String? {
        guard let nonce = fields[.dpopNonce], !nonce.isEmpty, nonce.utf8.count <= 2048, nonce.utf8.areVisible
        else { return nil }
        return nonce
    }

    /// The nonce that an API demands of the next signed request: `DPoP-Nonce`, the first PoP challenge with a nonce, or the
    /// nonce that the API announces (`Authentication-Info`).
    package static func nonce(in fields: HTTPFields) -> String? {
        nonceField(in: fields) ?? AuthenticationChallenge.parse(fields[values: .wwwAuthenticate]).lazy.compactMap(
            \.nonce
        ).first
            ?? AuthenticationChallenge.nextNonce(in: fields[values: .authenticationInfo])
    }
}

/// The key that an access token is bound to, by its identifier, and the scheme that proves its possession.
///
/// A class, so that requests for bearer tokens, which have none, stay small.
package final class TokenBinding: Hashable, Sendable {
    package let scheme: AuthenticationScheme
    /// The thumbprint of the public key.
    package let keyID: String

    package init(scheme: AuthenticationScheme, keyID: String) {
        self.scheme = scheme
        self.keyID = keyID
    }

    package static func == (first: TokenBinding, second: TokenBinding) -> Bool {
        first.scheme == second.scheme && first.keyID == second.keyID
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(keyID)
    }

    /// The parameters that ask a token endpoint for a bound token.
    var parameters: [(String, String)] {
        scheme == .dpop
            ? []
            : scheme.sshKey.map(TokenRequestMessage.sshCertificate)
                ?? TokenRequestMessage.proofOfPossession(keyID: keyID)
    }

    /// Names the binding beside the others of the client, which has one key for all requests and any number for
    /// certificates.
    var name: String { scheme.sshKey == nil ? scheme.description : "\(scheme) \(keyID)" }
}

/// The binding of a token, and the key that signs requests.
struct TokenProof: Sendable {
    let binding: TokenBinding
    /// `nil` for a certificate, whose private key the library does not have, and with a key of a sign-in.
    let key: PossessionKey?
    /// The key of a sign-in.
    var dpop: DPoPKey?
}

extension TokenProof {
    /// The key of a sign-in.
    init(_ key: DPoPKey) {
        self.init(binding: TokenBinding(scheme: .dpop, keyID: key.keyID), key: nil, dpop: key)
    }
}

extension HTTPField.Name {
    package static let dpop = constant("DPoP")
    package static let dpopNonce = constant("DPoP-Nonce")
}
