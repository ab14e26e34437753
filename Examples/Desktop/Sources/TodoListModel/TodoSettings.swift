// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import Foundation
public import IdentityClient

/// The program's settings for the cloud, from a settings file or the command line.
public struct TodoSettings: Sendable {
    /// The format in which new tasks are sent.
    public enum ContentType: String, Sendable {
        /// JSON.
        case json = "application/json"
        /// A form.
        case form = "application/x-www-form-urlencoded"
    }

    /// The kind of account, which is part of the item names in the keyring.
    public var accountIdentifier = "B2C_Account"

    /// The program's registration.
    public var clientID: ClientID

    /// The policy that signs people up or in.
    public var signIn: B2CPolicy

    /// The policy that edits profiles; `nil` if there is none.
    public var editProfile: B2CPolicy?

    /// The policy that resets passwords; `nil` if there is none.
    public var resetPassword: B2CPolicy?

    /// The redirect URI.
    public var redirectURI: RedirectURI = .loopback

    /// The programs that share the sign-in; `nil` means this program alone.
    public var cacheGroup: CacheGroup?

    /// The format in which new tasks are sent.
    public var contentType: ContentType = .json

    /// The root of the API; the tasks are at `api/tasks` below it.
    public var taskAPI: URL

    /// The scopes to request. B2C's scope for a program's own API is its client id.
    public var scopes: Set<Scope>

    /// Creates settings with the only policy that every program needs.
    public init(clientID: ClientID, signIn: B2CPolicy, taskAPI: URL) {
        self.clientID = clientID
        self.signIn = signIn
        self.taskAPI = taskAPI
        scopes = [Scope(rawValue: clientID.rawValue)]
    }
}

/// A user flow of Azure AD B2C: its name, and its authority.
public struct B2CPolicy: Hashable, Sendable {
    /// The name in lower case, as tokens spell it.
    public let name: String

    /// The policy's authority.
    public let authority: Authority

    private let address: URLComponents

    private static let characters = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.".utf8)

    /// Parses the address of a policy's authority or of any of its endpoints. The name is in the path, or in the query
    /// as `p`.
    ///
    /// - Throws: ``SettingsError`` if the address has none of B2C's forms.
    public init(url text: String) throws {
        guard var address = URLComponents(string: text), address.host?.isEmpty == false else {
            throw SettingsError("'\(text)' is not an address.")
        }
        for endpoint in ["/oauth2/v2.0/authorize", "/oauth2/v2.0/token"] where address.path.hasSuffix(endpoint) {
            address.path.removeLast(endpoint.count)
        }
        if address.path.hasSuffix("/") { address.path.removeLast() }
        let segments = address.path.split(separator: "/")
        let inQuery = address.percentEncodedQueryItems?.first { $0.name == "p" }?.value
        guard let name = inQuery ?? segments.dropFirst().last.map(String.init), !name.isEmpty, !segments.isEmpty else {
            throw SettingsError("'\(text)' names no B2C policy: neither a path TENANT/POLICY nor a parameter p.")
        }
        self.name = name.lowercased()
        self.address = address
        do {
            if inQuery == nil, segments.count == 2, address.scheme == "https", let host = address.host {
                // A custom domain does not show that it belongs to B2C.
                let port = address.port.map { ":\($0)" } ?? ""
                authority = try .b2c(host: host + port, tenant: String(segments[0]), policy: name)
            } else {
                authority = try Authority(url: address.string ?? text)
            }
        } catch let error as AuthenticationError {
            throw SettingsError("'\(text)' is not the address of a B2C policy. \(error.message)")
        }
    }

    /// Returns another policy of the same tenant.
    ///
    /// - Throws: ``SettingsError`` if the name cannot be part of an address.
    public func policy(named name: String) throws -> B2CPolicy {
        guard name.utf8.allSatisfy({ Self.characters.contains($0) }), !name.isEmpty else {
            throw SettingsError("'\(name)' cannot be the name of a policy.")
        }
        var address = address
        if let index = address.percentEncodedQueryItems?.firstIndex(where: { $0.name == "p" }) {
            address.percentEncodedQueryItems?[index].value = name
        } else {
            let tenant = address.path.split(separator: "/").dropLast()
            address.path = "/" + tenant.joined(separator: "/") + "/" + name
        }
        return try B2CPolicy(url: address.string ?? "")
    }
}

/// A problem with the settings, and the remedy.
public struct SettingsError: Error, Hashable, CustomStringConvertible {
    /// The problem and the remedy in plain words.
    public let description: String

    init(_ description: String) {
        self.description = description
    }
}
