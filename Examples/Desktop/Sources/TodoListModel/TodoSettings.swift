// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import Foundation
public import IdentityClient

/// What the program has to know of the cloud: what a settings file or the command line says.
public struct TodoSettings: Sendable {
    /// How the tasks of a new entry are sent.
    public enum ContentType: String, Sendable {
        /// JSON.
        case json = "application/json"
        /// A form.
        case form = "application/x-www-form-urlencoded"
    }

    /// What kind of account it is: a part of the name of the items in the keyring.
    public var accountIdentifier = "B2C_Account"

    /// The program's registration.
    public var clientID: ClientID

    /// The policy that signs people up or in.
    public var signIn: B2CPolicy

    /// The policy that edits profiles; `nil` where there is none.
    public var editProfile: B2CPolicy?

    /// The policy that resets passwords; `nil` where there is none.
    public var resetPassword: B2CPolicy?

    /// Where the provider sends the browser back to.
    public var redirectURI: RedirectURI = .loopback

    /// The programs that share the sign-in; `nil` means this one alone.
    public var cacheGroup: CacheGroup?

    /// How new tasks are sent.
    public var contentType: ContentType = .json

    /// The root of the API; the tasks are at `api/tasks` below it.
    public var taskAPI: URL

    /// What the program asks for. B2C's scope for a program's own API is its client id.
    public var scopes: Set<Scope>

    /// Settings with the one policy that every program needs.
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

    /// Where it is.
    public let authority: Authority

    private let address: URLComponents

    private static let characters = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.".utf8)

    /// The policy whose authority, or any of whose endpoints, has this address. The name is in the path, or in the
    /// query as `p`.
    ///
    /// - Throws: ``SettingsError`` when it has none of B2C's forms.
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
                // A custom domain does not tell that it is B2C's.
                let port = address.port.map { ":\($0)" } ?? ""
                authority = try .b2c(host: host + port, tenant: String(segments[0]), policy: name)
            } else {
                authority = try Authority(url: address.string ?? text)
            }
        } catch let error as AuthenticationError {
            throw SettingsError("'\(text)' is not the address of a B2C policy. \(error.message)")
        }
    }

    /// Another policy of the same tenant.
    ///
    /// - Throws: ``SettingsError`` when the name cannot be part of an address.
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

/// What is wrong with the settings, and what to change.
public struct SettingsError: Error, Hashable, CustomStringConvertible {
    /// In plain words.
    public let description: String

    init(_ description: String) {
        self.description = description
    }
}
