// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import DesktopKit
import Foundation
import IdentityClient

/// The settings file, with the keys of Microsoft's well-known sample.
struct SearchSettings: Sendable, Equatable {
    /// `clientId`; without it, and without --client-id, the cloud is the stand-in.
    var clientID: ClientID?
    /// `authority`: the provider that signs people in; the default accepts work, school and personal accounts.
    var authority: Authority
    /// `redirectUri`: a loopback address; any other address is allowed if the page is in a window of the program.
    var redirectURI = RedirectURI.loopback
    /// `graphApiUrlString` and `apiversion`: Graph's root with its version.
    var graphURL: URL

    /// Creates the settings that apply without a file.
    init() throws {
        authority = try .entra(.common)
        graphURL = try Self.graphURL(nil, version: nil)
    }

    /// Reads the settings from a file.
    ///
    /// - Throws: ``ValidationFailure`` that names the key.
    init(_ file: SettingsFile, page: PageChoice) throws {
        clientID = file["clientId"].map { ClientID(rawValue: $0) }
        do {
            if file["secret"] != nil { throw Self.secret }
            authority = try Self.authority(file["authority"])
            if let text = file["redirectUri"] { redirectURI = try Self.redirectURI(text, page: page) }
            graphURL = try Self.graphURL(file["graphApiUrlString"], version: file["apiversion"])
        } catch let failure as ValidationFailure {
            throw ValidationFailure("\(file.path): \(failure.description)")
        }
    }

    /// The registration that the file names.
    var registration: Registration? {
        clientID.map { Registration(clientID: $0, authority: authority, redirectURI: redirectURI) }
    }

    private static let secret = ValidationFailure(
        """
        secret must be empty or absent: everybody who has this program could read a secret in it, so it would protect \
        nothing. Register the program as a public client, and use its client id alone.
        """
    )

    private static func authority(_ text: String?) throws -> Authority {
        do {
            return try text.map { try Authority(url: $0) } ?? .entra(.common)
        } catch let error as AuthenticationError {
            throw ValidationFailure("authority: \(error.message)")
        }
    }

    private static func redirectURI(_ text: String, page: PageChoice) throws -> RedirectURI {
        do {
            if let loopback = try loopback(text) { return loopback }
            if page == .embedded, let url = URL(string: text), url.scheme != "http" { return try .custom(url) }
        } catch let error as AuthenticationError {
            throw ValidationFailure("redirectUri: \(error.message)")
        }
        throw ValidationFailure(
            """
            redirectUri must be a loopback address such as http://localhost, which the system's browser can come \
            back to; register it for “Mobile and desktop applications”, or start with --page embedded, which can do \
            with any address but plain http. It is “\(text)”.
            """
        )
    }

    /// Parses `http://localhost`, `http://127.0.0.1` or `http://[::1]`, with or without port and path; returns `nil`
    /// for any other address.
    private static func loopback(_ text: String) throws -> RedirectURI? {
        guard let parts = URLComponents(string: text), parts.scheme == "http", parts.query == nil,
            parts.fragment == nil,
            parts.user == nil, let host = RedirectURI.LoopbackHost(rawValue: parts.host?.lowercased() ?? ""),
            let port = UInt16(exactly: parts.port ?? 0)
        else { return nil }
        return try .loopback(host: host, ports: port == 0 ? nil : port...port, path: parts.percentEncodedPath)
    }

    private static func graphURL(_ root: String?, version: String?) throws -> URL {
        let root = root ?? "https://graph.microsoft.com/"
        let version = version ?? "v1.0"
        guard !version.isEmpty, version.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == ".") }) else {
            throw ValidationFailure("apiversion must be v1.0 or beta, not “\(version)”.")
        }
        let isLoopback = ["localhost", "127.0.0.1", "[::1]", "::1"]
        guard let parts = URLComponents(string: root), let host = parts.host, parts.query == nil, parts.user == nil,
            parts.scheme == "https" || parts.scheme == "http" && isLoopback.contains(host),
            let url = URL(string: root)
        else {
            throw ValidationFailure("graphApiUrlString must be an https address, not “\(root)”.")
        }
        return url.appending(path: version)
    }
}
