// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import DesktopKit
import Foundation
import IdentityClient

/// The settings file, by the keys of the sample that people know.
struct SearchSettings: Sendable, Equatable {
    /// `clientId`; without it, and without --client-id, the cloud is the stand-in.
    var clientID: ClientID?
    /// `redirectUri`: a loopback address.
    var redirectURI = RedirectURI.loopback
    /// `graphApiUrlString` and `apiversion`: Graph's root with its version.
    var graphURL: URL

    /// What counts where there is no file.
    init() throws {
        graphURL = try Self.graphURL(nil, version: nil)
    }

    /// - Throws: ``ValidationFailure`` that names the key.
    init(_ file: SettingsFile) throws {
        clientID = file["clientId"].map { ClientID(rawValue: $0) }
        do {
            if let text = file["redirectUri"] { redirectURI = try Self.redirectURI(text) }
            graphURL = try Self.graphURL(file["graphApiUrlString"], version: file["apiversion"])
        } catch let failure as ValidationFailure {
            throw ValidationFailure("\(file.path): \(failure.description)")
        }
    }

    /// The registration that the file names, for work, school and personal accounts.
    var registration: Registration? {
        get throws {
            guard let clientID else { return nil }
            return Registration(clientID: clientID, authority: try .entra(.common), redirectURI: redirectURI)
        }
    }

    /// `http://localhost`, `http://127.0.0.1` or `http://[::1]`, with or without port and path.
    private static func redirectURI(_ text: String) throws -> RedirectURI {
        guard let parts = URLComponents(string: text), parts.scheme == "http", parts.query == nil,
            parts.fragment == nil,
            parts.user == nil, let host = RedirectURI.LoopbackHost(rawValue: parts.host?.lowercased() ?? ""),
            let port = UInt16(exactly: parts.port ?? 0)
        else {
            throw ValidationFailure(
                "redirectUri is to be a loopback address such as http://localhost, which the system's browser can come "
                    + "back to; register it for “Mobile and desktop applications”. It is “\(text)”."
            )
        }
        do {
            return try .loopback(host: host, ports: port == 0 ? nil : port...port, path: parts.percentEncodedPath)
        } catch let error as AuthenticationError {
            throw ValidationFailure("redirectUri: \(error.message)")
        }
    }

    private static func graphURL(_ root: String?, version: String?) throws -> URL {
        let root = root ?? "https://graph.microsoft.com/"
        let version = version ?? "v1.0"
        guard !version.isEmpty, version.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == ".") }) else {
            throw ValidationFailure("apiversion is to be v1.0 or beta, not “\(version)”.")
        }
        let isLoopback = ["localhost", "127.0.0.1", "[::1]", "::1"]
        guard let parts = URLComponents(string: root), let host = parts.host, parts.query == nil, parts.user == nil,
            parts.scheme == "https" || parts.scheme == "http" && isLoopback.contains(host),
            let url = URL(string: root)
        else {
            throw ValidationFailure("graphApiUrlString is to be an https address, not “\(root)”.")
        }
        return url.appending(path: version)
    }
}
