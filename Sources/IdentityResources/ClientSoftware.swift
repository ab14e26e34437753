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
    /// There is one registration for it at each server.
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

    /// The token that a server gave the program's maker for registrations. `nil`, the default, for servers that register
    /// everyone.
    public var initialAccessToken: String?

    /// Describes a program.
    public init(id: String, name: String) {
        self.id = id
        self.name = name
    }

    /// The addresses without a port, which is any, and with each of the fixed ports: what to register by hand, too.
    public var redirectURIs: [String] { [Self.redirectURI(.ipv4, nil)] + fixedRedirectURIs(.ipv4) }

    /// The addresses with each of the fixed ports.
    func fixedRedirectURIs(_ host: RedirectURI.LoopbackHost) -> [String] {
        redirectPorts.map { Self.redirectURI(host, $0) }
    }

    static func redirectURI(_ host: RedirectURI.LoopbackHost, _ port: UInt16?) -> String {
        "http://\(host.rawValue)\(port.map { ":\($0)" } ?? "")\(path)"
    }

    private static let path = "/callback"

    /// The address to which the browser returns, with the first free one of the fixed ports, or with any.
    package func redirectURI(
        on host: RedirectURI.LoopbackHost = .ipv4,
        hasFixedPort: Bool = true
    ) throws -> RedirectURI {
        hasFixedPort
            ? try .loopback(host: host, ports: redirectPorts, path: Self.path)
            : try .loopback(host: host, path: Self.path)
    }

    /// The programs that share the registration and its tokens, unless another group is named.
    package var group: CacheGroup {
        CacheGroup(unchecked: "software-" + Digest.hexadecimal(of: [id]).prefix(32))
    }

    /// The program's metadata document, for the address in ``metadataDocument``.
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
            softwareVersion: version,
            redirectURIs: ["http://127.0.0.1\(Self.path)", "http://[::1]\(Self.path)"] + fixedRedirectURIs(.ipv4),
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
