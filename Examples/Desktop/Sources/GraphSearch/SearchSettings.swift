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
    /// `redirectUri`: a loopback address, or an address with a scheme of the program's own; any address but plain http if
    /// the page is in a window of the program.
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
        secret must be empty or absent: every user of this program could read a secret in it, so it would protect \
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
            if let address = try RedirectURI.receivable(text, page: page) { return address }
        } catch let error as AuthenticationError {
            throw ValidationFailure("redirectUri: \(error.message)")
        }
        throw ValidationFailure(
            """
            redirectUri must be a loopback address such as http://localhost, or have a scheme of the program's own, such \
            as com.example.app://auth. With --page embedded, any address but plain http is allowed. It is “\(text)”.
            """
        )
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
