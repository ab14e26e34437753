// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

package import IdentityClient
import OAuthWire

/// A program, as it registers itself at servers that do not know it.
///
/// ```swift
/// let software = ClientSoftware(id: "com.example.mail", name: "Example Mail")
/// ```
/// - SeeAlso: [RFC 7591 §2](https://www.rfc-editor.org/rfc/rfc7591#section-2)
public struct ClientSoftware: Hashable, Sendable {
    /// A name of the program that all its versions and users share, and no other program: a reversed domain name for example.
    /// There is one registration for it at each server and for each resource.
    public var id: String

    /// The name that servers show to people.
    public var name: String

    /// The version, if servers may know it. `nil` unless set.
    public var version: String?

    /// The ports of the loopback address to which the browser returns, of which the first free one is used. Five fixed ones
    /// unless set, because some servers compare ports.
    public var redirectPorts: ClosedRange<UInt16> = 28471...28475

    /// The address of the program's metadata document, `https` with a path, which servers that support it take as the client
    /// id. `nil`, the default, if there is none.
    /// - SeeAlso: [draft-ietf-oauth-client-id-metadata-document](https://datatracker.ietf.org/doc/draft-ietf-oauth-client-id-metadata-document/)
    public var metadataDocument: String?

    /// The tokens that servers gave the program's maker for registrations, each by the issuer to which it goes, and to no other.
    /// Empty unless set, for servers that register everyone.
    ///
    /// ```swift
    /// software.initialAccessTokens["https://id.example.com"] = token
    /// ```
    public var initialAccessTokens: [String: String] = [:]

    /// Describes a program.
    public init(id: String, name: String) {
        self.id = id
        self.name = name
    }

    /// The addresses of a client that is registered by hand: without a port, which is any, and with each of the fixed ports.
    public var redirectURIs: [String] { redirectURIs(.byHand) }

    func redirectURIs(_ path: RedirectPath) -> [String] {
        [Self.redirectURI(.ipv4, nil, path)] + fixedRedirectURIs(.ipv4, path)
    }

    /// The addresses with each of the fixed ports.
    func fixedRedirectURIs(_ host: RedirectURI.LoopbackHost, _ path: RedirectPath) -> [String] {
        redirectPorts.map { Self.redirectURI(host, $0, path) }
    }

    static func redirectURI(_ host: RedirectURI.LoopbackHost, _ port: UInt16?, _ path: RedirectPath) -> String {
        "http://\(host.rawValue)\(port.map { ":\($0)" } ?? "")\(path.text)"
    }

    /// The address to which the browser returns, with the first free one of the fixed ports, or with any.
    func redirectURI(
        _ path: RedirectPath = .byHand,
        on host: RedirectURI.LoopbackHost = .ipv4,
        hasFixedPort: Bool = true
    ) throws -> RedirectURI {
        hasFixedPort
            ? try .loopback(host: host, ports: redirectPorts, path: path.text)
            : try .loopback(host: host, path: path.text)
    }

    /// The programs that share the registration and its tokens, unless another group is named.
    package var group: CacheGroup {
        CacheGroup(unchecked: "software-" + Digest.hexadecimal(of: [id]).prefix(32))
    }

    /// The metadata document of all versions of the program, for the address in ``metadataDocument``.
    ///
    /// ```swift
    /// try software.document(at: "https://example.com/client.json").write(to: file)
    /// ```
    /// - Parameter address: Where the document will stand: `https`, with a path.
    /// - Throws: `.invalidArgument` for another address.
    public func document(at address: String) throws -> String {
        let message = ClientRegistrationMessage(
            name: name,
            softwareID: id,
            softwareVersion: nil,  // it stands for all versions
            redirectURIs: [RedirectURI.LoopbackHost.ipv4, .ipv6].map { Self.redirectURI($0, nil, .byHand) }
                + fixedRedirectURIs(.ipv4, .byHand),
            grantTypes: [GrantType.authorizationCode, .refreshToken].map(\.rawValue),
            scopes: []
        )
        var json = message.json(isShort: false)
        json["client_id"] = .string(try Self.checked(document: address))
        return String(decoding: json.serialized(), as: UTF8.self)
    }

    static func checked(document: String) throws -> String {
        guard let address = WebAddress(document), address.scheme == "https", address.target != "/",
            !address.path.isEmpty
        else {
            throw AuthenticationError(.invalidArgument, "A metadata document is at an https address with a path.")
        }
        return document
    }
}

/// The path to which the browser returns.
struct RedirectPath: Hashable, Sendable {
    let text: String

    /// The path of a client that is registered by hand, of a metadata document, and of registrations before there was one for each
    /// server.
    static let byHand = RedirectPath(text: "/callback")

    /// The path of a registration, which no other server can have: only answers at it are taken, so that no server can pass
    /// another one's answer off as its own.
    ///
    /// - SeeAlso: [RFC 9700 §4.4.2](https://www.rfc-editor.org/rfc/rfc9700#section-4.4.2)
    static func of(_ issuer: String) -> RedirectPath {
        RedirectPath(text: "/callback/" + Digest.hexadecimal(of: ["issuer", issuer]).prefix(32))
    }
}
