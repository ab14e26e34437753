// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import Testing

/// A real provider started for these tests, with the settings in its `env` file.
struct Provider: Sendable {
    enum Name: String, CaseIterable, Codable, Sendable, CustomTestStringConvertible {
        case glewlwyd = "GLEWLWYD"
        case djangoOAuthToolkit = "DOT"

        var testDescription: String { self == .glewlwyd ? "glewlwyd" : "django-oauth-toolkit" }
    }

    let name: Name
    /// The path of the `env` file, which the scripted people also read.
    let file: String
    private let settings: [String: String]
    private let requiresPushing: Bool

    /// Reads the settings of a provider.
    ///
    /// - Parameters:
    ///   - requiresPushing: Whether the provider accepts only pushed authorization requests: a different issuer of
    ///     glewlwyd.
    ///   - hasGracePeriod: Whether the provider accepts a used refresh token for a while, as django-oauth-toolkit can.
    init(_ name: Name, tls: Bool = false, requiresPushing: Bool = false, hasGracePeriod: Bool = false) throws {
        self.name = name
        self.requiresPushing = requiresPushing
        let variant = tls ? "_TLS" : hasGracePeriod ? "_GRACE" : ""
        file = try Settings.value("IDENTITY_E2E_\(name.rawValue)\(variant)")
        let content = try String(decoding: Data(contentsOf: URL(filePath: file)), as: UTF8.self)
        var settings: [String: String] = [:]
        for line in content.split(separator: "\n") {
            guard let sign = line.firstIndex(of: "=") else { continue }
            settings[String(line[..<sign])] = String(line[line.index(after: sign)...])
        }
        self.settings = settings
    }

    func setting(_ name: String) throws -> String {
        guard let value = settings[name] else { throw MissingSetting(name: name) }
        return value
    }

    var clientID: ClientID { get throws { ClientID(rawValue: try setting("CLIENT_ID")) } }
    var issuer: String { get throws { try setting(requiresPushing ? "PUSHED_ISSUER" : "ISSUER") } }
    var username: String { get throws { try setting("USERNAME") } }
    var authority: Authority { get throws { try .openIDConnect(issuer: issuer) } }

    /// The certificate authority of a provider over TLS.
    var certificateAuthority: String? {
        get throws {
            let path = try setting("CA")
            return path.isEmpty ? nil : path
        }
    }

    /// The lifetime of access tokens, plus a second.
    var accessTokenLifetime: Duration {
        get throws { .seconds(try #require(Int(try setting("AT_TTL"))) + 1) }
    }

    /// The registered ports; `nil` if any port is allowed.
    var ports: ClosedRange<UInt16>? {
        get throws {
            let bounds = try setting("REDIRECT_PORTS").split(separator: "-").compactMap { UInt16($0) }
            return bounds.count == 2 ? bounds[0]...bounds[1] : nil
        }
    }

    /// The registered redirect URI. glewlwyd compares it exactly, and with session management accepts no address
    /// without a path.
    var redirectURI: RedirectURI {
        get throws { try .loopback(ports: ports, path: settings["SESSIONS"] == "1" ? "/" : "") }
    }

    /// A redirect URI without a listener. Other tests take the first free port of the range.
    var redirectURIWithoutListener: RedirectURI {
        get throws {
            let port = try ports?.upperBound ?? UInt16.random(in: 49152...65535)
            return try .loopback(ports: port...port)
        }
    }
}
