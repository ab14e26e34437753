// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import IdentityClient
import IdentityResources
import OAuthWire
import SystemSupport

/// The resources with a sign-in: a file for each, with lines as in a profile. None has a secret.
struct KnownResources: Sendable {
    private let directory: String

    init(directory: String) {
        self.directory = directory
    }

    /// - Throws: `UsageError` without a home directory.
    init(_ environment: Environment) throws {
        guard let directory = try ProfileDirectory(environment).resourceDirectory else {
            throw UsageError("There is no home directory for what is known of resources: set HOME.")
        }
        self.directory = directory
    }

    private func path(of address: String) -> String {
        "\(directory)/\(Digest.hexadecimal(of: ["resource", address]).prefix(32)).conf"
    }

    /// Returns what is known of an address, or of the nearest one above it that reaches it.
    ///
    /// - Throws: `UsageError` if the file cannot be used.
    func profile(for address: String) throws -> Profile? {
        guard let wanted = WebAddress(address) else { return nil }
        for text in [address] + wanted.ancestors {
            guard let profile = try profile(at: path(of: text)) else { continue }
            let identifier = profile.given("resource").flatMap { WebAddress($0.text) }
            if WireText.areSame(text, address) || identifier?.isAbove(wanted) == true { return profile }
        }
        return nil
    }

    private func profile(at path: String) throws -> Profile? {
        guard let bytes = try ProfileDirectory.read(path)?.0 else { return nil }
        return try Profile(ofResource: bytes, path: path)
    }

    /// All of them, each once, in the order of their identifiers.
    func all() throws -> [Profile] {
        guard unsafe access(directory, R_OK) == 0 else {
            if errno == ENOENT { return [] }
            throw PlainFile.unreadable(directory)
        }
        var found: [String: Profile] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: directory) where name.hasSuffix(".conf") {
            // One that cannot be read is not found, and written anew by the next sign-in.
            guard let profile = try? profile(at: "\(directory)/\(name)") else { continue }
            found[profile.given("resource")?.text ?? ""] = profile
        }
        return found.sorted { $0.key < $1.key }.map(\.value)
    }

    /// Keeps what a sign-in for an address has found.
    func keep(_ profile: Profile, for address: String) throws {
        let identifier = profile.given("resource")?.text ?? address
        let text = profile.lines.map { "\($0.name) = \($0.value)\n" }.joined()
        for address in Set([address, identifier]) {
            try PlainFile.write(Array(text.utf8), to: path(of: address))
        }
    }

    /// Forgets a resource, at each address by which it is known.
    ///
    /// - Returns: Its lines.
    func forget(_ address: String) throws -> Profile? {
        guard let profile = try profile(for: address), let identifier = profile.given("resource")?.text else {
            return nil
        }
        for name in try FileManager.default.contentsOfDirectory(atPath: directory) where name.hasSuffix(".conf") {
            let path = "\(directory)/\(name)"
            guard let other = try? self.profile(at: path), other.given("resource")?.text == identifier else { continue }
            guard PlainFile.remove(path) || errno == ENOENT else {
                throw SystemFailure("\(path) cannot be removed", number: errno)
            }
        }
        return profile
    }
}

extension Profile {
    /// Makes the lines of a resource.
    init(
        resource: String,
        issuer: String,
        clientID: ClientID,
        redirectURI: String,
        ports: ClosedRange<UInt16>?,
        scopes: Set<Scope>,
        dpop: DPoPPolicy,
        assumesPKCE: Bool,
        isRegistered: Bool
    ) throws {
        var lines = [
            "resource = \(resource)", "issuer = \(issuer)", "client-id = \(clientID.rawValue)",
            "redirect-uri = \(redirectURI)",
        ]
        if let ports { lines.append("redirect-ports = \(ports.lowerBound)-\(ports.upperBound)") }
        lines += scopes.map { "scope = \($0.rawValue)" }.sorted()
        if dpop != .off { lines.append("dpop = \(dpop.rawValue)") }
        if assumesPKCE { lines.append("assume-pkce = yes") }
        if isRegistered { lines.append("registered = yes") }
        try self.init(ofResource: Array(lines.joined(separator: "\n").utf8), path: resource)
    }
}

extension ClientSoftware {
    /// This tool, as it registers itself at servers: under one name for all its versions.
    static var identityctl: ClientSoftware {
        var software = ClientSoftware(id: "swift-identity-client.identityctl", name: "identityctl")
        software.version = LibraryVersion.current
        return software
    }
}

extension ClientConfiguration {
    /// Reads the secret of this tool's registration, if it has one, when a request needs it.
    mutating func readSecretOfRegistration(in cache: any TokenCache) {
        let (authority, clientID) = (authority, clientID)
        readingClientSecret = {
            guard let kept = try await ClientRegistration.kept(of: .identityctl, at: authority, cache: cache),
                kept.clientID == clientID
            else { return nil }
            return kept.clientSecret.map { ($0, kept.secretPlace) }
        }
    }
}
