// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
public import HTTPTypes
import OAuthWire

extension AuthenticationResult {
    /// Returns the value of the `Authorization` header for one request. It is a secret.
    ///
    /// For a bearer token, it is ``authorizationHeader``. For a token of the scheme ``AuthenticationScheme/pop``, it is the
    /// token together with the request's method, host, path and query, and the current time, signed with the program's key,
    /// which takes about a millisecond. APIs accept it for a few minutes. The request's body and other header fields are
    /// not signed. A request that is changed, or sent again later, needs a new header.
    ///
    /// - Parameters:
    ///   - request: The request, with scheme, authority and path as they will be sent.
    ///   - nonce: The nonce that the API demanded, from ``AuthenticationScheme/nonce(in:)``; `nil`, the default, if it
    ///     demanded none.
    /// - Throws: `AuthenticationError.Code.invalidArgument` if the request is not to https, or http on this computer, if its
    ///   address or the nonce has other than visible ASCII, if the result was created without a key, or for an SSH
    ///   certificate.
    /// - SeeAlso: [draft-ietf-oauth-signed-http-request-03](https://datatracker.ietf.org/doc/html/draft-ietf-oauth-signed-http-request-03)
    public func authorizationHeader(for request: HTTPRequest, nonce: String? = nil) throws -> String {
        try authorizationHeader(for: request, nonce: nonce, at: SystemClock().unixSeconds)
    }

    /// The same at a time, in Unix seconds.
    package func authorizationHeader(for request: HTTPRequest, nonce: String?, at now: Int64) throws -> String {
        guard isBound else { return authorizationHeader }
        guard tokenType != AuthenticationScheme.sshCertificateType else {
            throw AuthenticationError(
                .invalidArgument,
                "An SSH certificate is shown to no API. Give it to ssh, and acquire another token for the API."
            )
        }
        guard let key = proof?.key else {
            throw AuthenticationError(
                .invalidArgument,
                "This result has no key to sign a request with. Acquire the token from the application object."
            )
        }
        let (authority, path) = (request.authority ?? "", request.path ?? "/")
        guard path.utf8.first == UInt8(ascii: "/"), !authority.utf8.contains(where: { "/?".utf8.contains($0) }),
            let address = WebAddress("\(request.scheme ?? "")://\(authority)\(path)", maximumLength: 8192)
        else {
            throw AuthenticationError(
                .invalidArgument,
                "The request is not to an acceptable address: https, or http for this computer itself, without a name "
                    + "and password, with everything but visible ASCII percent-encoded, and at most 8192 bytes."
            )
        }
        if let nonce, nonce.isEmpty || !WireText.isVisibleASCII(nonce) {
            throw AuthenticationError(
                .invalidArgument,
                "The nonce is empty, or has other than visible ASCII characters."
            )
        }
        let statement = SignedHTTPRequest(
            accessToken: accessToken,
            method: request.method.rawValue,
            host: address.environment,
            path: address.path.isEmpty ? "/" : address.path,
            query: address.query,
            nonce: nonce,
            timestamp: now
        )
        do {
            return "\(tokenType) \(try statement.signed(with: key))"
        } catch {
            throw AuthenticationError(.invalidArgument, "The request could not be signed.", underlyingError: error)
        }
    }
}
