// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import Foundation
public import IdentityClient

extension TodoSettings {
    /// The file's keys: those of the `settings.plist` that programs for Azure AD B2C have had for years, and the names
    /// of the two policies that those programs did not need.
    private struct File: Decodable {
        var accountIdentifier: String?
        var clientID: String?
        var clientSecret: String?
        var authURL: String?
        var loginURL: String?
        var bhh: String?
        var tokenURL: String?
        var keychain: String?
        var contentType: String?
        var taskAPI: String?
        var editProfilePolicy: String?
        var resetPasswordPolicy: String?
    }

    /// Reads a property list (XML or binary) or JSON.
    ///
    /// - Parameter redirectURI: Parses a redirect URI; `nil` if the program cannot receive it.
    /// - Throws: ``SettingsError`` that names the key to change; the system's error if the file cannot be read.
    public init(contentsOf url: URL, redirectURI: (String) throws -> RedirectURI?) throws {
        try self.init(try Data(contentsOf: url), redirectURI: redirectURI)
    }

    /// Reads the bytes of a property list or of JSON.
    ///
    /// - Parameter redirectURI: The same as in ``init(contentsOf:redirectURI:)``.
    /// - Throws: ``SettingsError`` that names the key to change.
    public init(_ data: Data, redirectURI: (String) throws -> RedirectURI?) throws {
        let isJSON = data.first { !" \t\r\n".utf8.contains($0) } == UInt8(ascii: "{")
        let file: File
        do {
            file =
                isJSON
                ? try JSONDecoder().decode(File.self, from: data)
                : try PropertyListDecoder().decode(File.self, from: data)
        } catch {
            throw SettingsError("The settings are neither a property list nor JSON with one text for each key.")
        }
        try self.init(file, redirectURI)
    }

    private init(_ file: File, _ parse: (String) throws -> RedirectURI?) throws {
        guard (file.clientSecret ?? "").isEmpty else {
            throw SettingsError(
                """
                clientSecret must be empty: every user of this program could read a secret in it, so it would protect \
                nothing. Register the program as a public client, and use its client id alone.
                """
            )
        }
        let signIn = try Self.policy(try Self.required(file.authURL, "authURL"), "authURL")
        let token = try Self.policy(try Self.required(file.tokenURL, "tokenURL"), "tokenURL")
        guard token.authority == signIn.authority else {
            throw SettingsError("authURL and tokenURL are not those of one policy.")
        }
        try self.init(
            clientID: ClientID(rawValue: Self.required(file.clientID, "clientID")),
            signIn: signIn,
            taskAPI: Self.address(Self.required(file.taskAPI, "taskAPI"), "taskAPI")
        )
        if let identifier = file.accountIdentifier, !identifier.isEmpty { accountIdentifier = identifier }
        if let page = file.loginURL, !page.isEmpty {
            guard try Self.address(page, "loginURL").host() == URL(string: signIn.authority.description)?.host() else {
                throw SettingsError("loginURL is on another host than authURL.")
            }
        }
        if let redirect = file.bhh, !redirect.isEmpty { redirectURI = try Self.redirectURI(redirect, parse) }
        if let group = file.keychain, !group.isEmpty {
            cacheGroup = try Self.naming("keychain") { try CacheGroup(group) }
        }
        if let type = file.contentType, !type.isEmpty {
            guard let known = ContentType(rawValue: type.lowercased()) else {
                throw SettingsError("contentType must be \(ContentType.json.rawValue) or \(ContentType.form.rawValue).")
            }
            contentType = known
        }
        editProfile = try Self.named(file.editProfilePolicy, beside: signIn)
        resetPassword = try Self.named(file.resetPasswordPolicy, beside: signIn)
    }

    private static func required(_ value: String?, _ key: String) throws -> String {
        guard let value, !value.isEmpty else { throw SettingsError("\(key) is missing.") }
        return value
    }

    private static func policy(_ text: String, _ key: String) throws -> B2CPolicy {
        do {
            return try B2CPolicy(url: text)
        } catch let error as SettingsError {
            throw SettingsError("\(key): \(error.description)")
        }
    }

    private static func named(_ name: String?, beside signIn: B2CPolicy) throws -> B2CPolicy? {
        guard let name, !name.isEmpty else { return nil }
        return try signIn.policy(named: name)
    }

    /// Parses an address to which tokens may be sent.
    ///
    /// - Parameter key: The key under which the address was given, for the error.
    /// - Throws: ``SettingsError`` if the text is not such an address.
    public static func address(_ text: String, _ key: String) throws -> URL {
        guard let url = URL(string: text), let host = url.host(), !host.isEmpty,
            url.scheme == "https" || (url.scheme == "http" && ["localhost", "127.0.0.1", "::1"].contains(host))
        else { throw SettingsError("\(key) must be an https address; http is allowed for this computer only.") }
        return url
    }

    private static func redirectURI(
        _ text: String,
        _ parse: (String) throws -> RedirectURI?
    ) throws -> RedirectURI {
        if let address = try naming("bhh", { try parse(text) }) { return address }
        throw SettingsError(
            """
            bhh is the redirect URI. Register http://localhost and write it here; urn:ietf:wg:oauth:2.0:oob means the \
            same. An address with a scheme of the program's own works too and, with --page embedded, any address but plain \
            http.
            """
        )
    }

    private static func naming<Value>(_ key: String, _ make: () throws -> Value) throws -> Value {
        do {
            return try make()
        } catch let error as AuthenticationError {
            throw SettingsError("\(key): \(error.message)")
        }
    }
}
