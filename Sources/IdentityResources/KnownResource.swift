// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

package import IdentityClient
import OAuthWire

/// The findings of a sign-in for a resource, in place of another search.
package struct KnownResource: Hashable, Sendable {
    package enum ClientKind: String, Sendable {
        case given, document, registered
    }

    /// The resource as it names itself.
    package var identifier: String
    /// The address at which, and below which, its tokens are found and sent: the identifier, or the called address alone.
    package var place: String
    package var issuer: String
    package var scopes: Set<Scope>
    package var clientID: ClientID
    package var kind: ClientKind
    package var dpop: DPoPPolicy
    package var assumesPKCE: Bool
    /// Whether resource and issuer were named together, in one place of the person's or the administrator's.
    package var isNamed: Bool
    /// The redirect address of the client, for a memory that keeps it beside the registration; `nil` if it is not known.
    package var redirectURI: RedirectURI?
    /// Whether the next search asks by a message as well, for a memory that keeps it.
    package var isAskedByMessage = false

    package init(
        identifier: String,
        place: String,
        issuer: String,
        scopes: Set<Scope>,
        clientID: ClientID,
        kind: ClientKind,
        dpop: DPoPPolicy,
        assumesPKCE: Bool,
        isNamed: Bool
    ) {
        self.identifier = identifier
        self.place = place
        self.issuer = issuer
        self.scopes = scopes
        self.clientID = clientID
        self.kind = kind
        self.dpop = dpop
        self.assumesPKCE = assumesPKCE
        self.isNamed = isNamed
    }
}

extension KnownResource {
    /// The addresses at which a sign-in for an address may have been kept: itself, and those above it, the nearest first.
    package static func keys(of address: String) -> [String] { [address] + (WebAddress(address)?.ancestors ?? []) }

    /// Whether the sign-in counts at an address.
    package func reaches(_ address: String) -> Bool { Self.reaches(address, from: place) }

    /// Whether tokens for a place go to an address: to the very one, or to one below it.
    package static func reaches(_ address: String, from place: String) -> Bool {
        if WireText.areSame(place, address) { return true }
        guard let place = WebAddress(place), let address = WebAddress(address) else { return false }
        return place.isAbove(address)
    }

    /// The addresses at which the sign-in is kept. One that no address above has confirmed is found below none of them.
    package func keys(calledAt address: String) -> Set<String> {
        WireText.areSame(place, identifier) ? [address, identifier] : [address]
    }
}

/// The memory of a program for what its sign-ins by address have found.
package protocol ResourceMemory: Sendable {
    /// Returns what is kept at exactly this address; `nil` also for what cannot be read.
    func resource(at address: String) async throws -> KnownResource?

    /// Keeps a resource for an address that was called.
    func keep(_ resource: KnownResource, calledAt address: String) async throws

    /// Returns all that is kept; what cannot be read is left out.
    func resources() async throws -> [KnownResource]
}

extension ResourceMemory {
    /// Returns what is known of an address: what is kept there, or at the nearest address above that reaches it.
    func known(of address: String) async throws -> KnownResource? {
        for key in KnownResource.keys(of: address) {
            if let found = try await resource(at: key), found.reaches(address) { return found }
        }
        return nil
    }
}

/// The memory in the cache of the tokens.
struct CachedResources: ResourceMemory {
    let cache: any TokenCache
    let group: CacheGroup

    func key(of address: String) -> CacheKey {
        CacheKey(group: group, kind: .application, name: Digest.hexadecimal(of: ["resource", address]))
    }

    func resource(at address: String) async throws -> KnownResource? {
        try await cache.record(for: key(of: address)).flatMap(KnownResource.init)
    }

    func keep(_ resource: KnownResource, calledAt address: String) async throws {
        for key in resource.keys(calledAt: address).map(key) {
            _ = try await cache.replace(cache.record(for: key), with: resource.record, for: key)
        }
    }

    func resources() async throws -> [KnownResource] {
        try await cache.records(of: .application, in: group).values.compactMap(KnownResource.init)
    }
}

extension KnownResource {
    /// - Returns: `nil` for a damaged record, and for one of another kind.
    fileprivate init?(_ record: CacheRecord) {
        guard let json = try? JSONObject(parsing: record.bytes), json.integer("v") == 1,
            let resource = json.string("resource"), WebAddress(resource) != nil, let issuer = json.string("issuer"),
            let scopes = json.strings("scopes"), let clientID = json.string("client_id"),
            let kind = json.string("client").flatMap(ClientKind.init)
        else { return nil }
        self.init(
            identifier: resource,
            place: json.string("place") ?? resource,
            issuer: issuer,
            scopes: Set(scopes.map(Scope.init(rawValue:))),
            clientID: ClientID(rawValue: clientID),
            kind: kind,
            dpop: json.string("dpop").flatMap(DPoPPolicy.init) ?? .off,
            assumesPKCE: json.bool("assumes_pkce") ?? false,
            isNamed: json.bool("named") ?? false
        )
    }

    fileprivate var record: CacheRecord {
        let json = JSONObject([
            ("v", .integer(1)), ("resource", .string(identifier)), ("place", .string(place)),
            ("issuer", .string(issuer)),
            ("scopes", .strings(scopes.map(\.rawValue).sorted())), ("client_id", .string(clientID.rawValue)),
            ("client", .string(kind.rawValue)), ("dpop", .string(dpop.rawValue)), ("assumes_pkce", .bool(assumesPKCE)),
            ("named", .bool(isNamed)),
        ])
        return CacheRecord(bytes: json.serialized())
    }
}

extension WebAddress {
    /// The addresses above this one, the nearest first, as a resource may spell them: with and without a slash at the end.
    fileprivate var ancestors: [String] {
        var found: [String] = []
        var segments = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        if query != nil { found.append(origin + path) }
        while let last = segments.popLast() {
            let above = origin + segments.map { "/" + $0 }.joined()
            if !last.isEmpty { found.append(above + "/") }
            found.append(above)
        }
        return Array(found.prefix(40))
    }
}
