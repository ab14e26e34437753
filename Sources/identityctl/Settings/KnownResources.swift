// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import IdentityClient
import IdentityResources
import OAuthWire
import SystemSupport

/// The resources with a sign-in: a file for each, with lines as in a profile. None has a secret.
struct KnownResources: ResourceMemory {
    private let directory: String

    init(directory: String) {
        self.directory = directory
    }

    /// - Throws: `UsageError` without a home directory.
    init(_ environment: Variables) throws {
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
        for key in KnownResource.keys(of: address) {
            guard let profile = try profile(at: path(of: key)) else { continue }
            if try TokenReach(of: profile).includes(address) { return profile }
        }
        return nil
    }

    private func profile(at path: String) throws -> Profile? {
        guard let bytes = try ProfileDirectory.read(path)?.0 else { return nil }
        guard let profile = try? Profile(ofResource: bytes, path: path) else {
            throw UsageError("\(path.printable): this file is damaged. To begin it anew, run: rm \(path.shellWord)")
        }
        return profile
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

    func resource(at address: String) throws -> KnownResource? {
        // One that cannot be read is not found, and written anew by the next sign-in.
        (try? profile(at: path(of: address))).flatMap(KnownResource.init)
    }

    func resources() throws -> [KnownResource] { try all().compactMap(KnownResource.init) }

    func keep(_ resource: KnownResource, calledAt address: String) throws {
        let text = try Profile(resource, path: address).textOfResource
        for key in resource.keys(calledAt: address) { try PlainFile.write(Array(text.utf8), to: path(of: key)) }
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

// Clients of this tool's registrations that their servers have forgotten, for 'doctor' and the next sign-in.
extension KnownResources {
    private func note(of profile: Profile) -> String? {
        guard profile.given("registered") != nil else { return nil }
        return (profile.given("resource") ?? profile.given("issuer")).map { path(of: $0.text) + ".forgotten" }
    }

    /// Notes that a server does not know the client of a sign-in any more.
    func noteForgotten(_ profile: Profile) throws {
        guard let note = note(of: profile), let client = profile.given("client-id")?.text else { return }
        try PlainFile.write(Array(client.utf8), to: note)
    }

    /// Notes that it knows the client.
    func noteKnown(_ profile: Profile) {
        if let note = note(of: profile) { _ = unsafe unlink(note) }  // there is seldom one
    }

    /// When the server said that it does not know the client; `nil` if it did not, or has known it since.
    func forgotten(_ profile: Profile) -> Date? {
        guard let note = note(of: profile), let client = profile.given("client-id")?.text,
            let read = try? PlainFile.read(note, atMost: 8192, check: { _ in }), read.bytes == Array(client.utf8)
        else { return nil }
        return try? FileManager.default.attributesOfItem(atPath: note)[.modificationDate] as? Date
    }
}

extension Profile {
    /// Whether the client is one that this tool registered.
    var isOfRegistration: Bool { isOfResource && given("registered") != nil }

    /// The lines of a resource.
    init(_ known: KnownResource, path: String) throws {
        var lines = [
            "resource = \(known.identifier)", "issuer = \(known.issuer)", "client-id = \(known.clientID.rawValue)",
        ]
        lines += (known.redirectURI?.lines ?? []).map { "\($0.name) = \($0.value)" }
        lines += known.scopes.map { "scope = \($0.rawValue)" }.sorted()
        if known.dpop != .off { lines.append("dpop = \(known.dpop.rawValue)") }
        if known.assumesPKCE { lines.append("assume-pkce = yes") }
        if known.kind != .given { lines.append("registered = yes") }
        if known.place != known.identifier { lines.append(Self.placeMark + known.place) }
        if known.isNamed { lines.append(Self.namedMark) }
        if known.isAskedByMessage { lines.append(Self.mcpMark) }
        try self.init(ofResource: Array(lines.joined(separator: "\n").utf8), path: path)
    }

    /// The text of the file of a known resource.
    fileprivate var textOfResource: String {
        let marks =
            (place.map { [Self.placeMark + $0] } ?? []) + (isNamedWithIssuer ? [Self.namedMark] : [])
            + (isOfMCP ? [Self.mcpMark] : [])
        return (lines.map { "\($0.name) = \($0.value)" } + marks).map { $0 + "\n" }.joined()
    }
}

extension RedirectURI {
    /// The lines of a profile for a loopback address.
    var lines: [(name: String, value: String)] {
        guard case .loopback(let host, let ports, let path) = kind else { return [] }
        return [("redirect-uri", "http://\((host ?? .ipv4).rawValue)\(path)")]
            + (ports.map { [("redirect-ports", "\($0.lowerBound)-\($0.upperBound)")] } ?? [])
    }
}

extension KnownResource {
    /// The content of the lines of a known resource.
    fileprivate init?(_ profile: Profile) {
        guard let resource = profile.given("resource")?.text, let issuer = profile.given("issuer")?.text,
            let clientID = profile.given("client-id")?.text
        else { return nil }
        self.init(
            identifier: resource,
            place: profile.place ?? resource,
            issuer: issuer,
            scopes: Set((profile.given("scope")?.words ?? []).map(Scope.init(rawValue:))),
            clientID: ClientID(rawValue: clientID),
            kind: profile.given("registered") == nil ? .given : .registered,
            dpop: profile.given("dpop").flatMap { DPoPPolicy(rawValue: $0.text) } ?? .off,
            assumesPKCE: profile.given("assume-pkce") != nil,
            isNamed: profile.isNamedWithIssuer
        )
        isAskedByMessage = profile.isOfMCP
    }
}

extension ClientSoftware {
    /// Where `Packaging/client.json` is served, which is this tool's metadata document. `Scripts/release` writes the address.
    static let hostedDocument = "https://downloads.example/identityctl/client.json"

    /// This tool, as it registers itself at servers: under one name for all its versions.
    static let identityctl = identityctl(documentAt: hostedDocument)

    /// - Parameter address: No server finds anything below `.example`, so that such an address is not used (RFC 2606 §2).
    static func identityctl(documentAt address: String) -> ClientSoftware {
        var software = ClientSoftware(id: "swift-identity-client.identityctl", name: "identityctl")
        software.version = LibraryVersion.current
        if WebAddress(address)?.host.hasSuffix(".example") == false { software.metadataDocument = address }
        return software
    }
}

extension ClientConfiguration {
    /// Reads the secret of this tool's registration, if it has one, when a request needs it.
    mutating func readSecretOfRegistration(in cache: any TokenCache) {
        let (authority, clientID) = (authority, clientID)
        readingClientSecret = {
            let kept = try await ClientRegistration.kept(clientID, of: .identityctl, at: authority, cache: cache)
            return kept.flatMap { kept in kept.clientSecret.map { ($0, kept.secretPlace) } }
        }
    }
}
