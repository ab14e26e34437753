// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import OAuthWire

extension TestIdentityProvider {
    /// An API at the provider's address, which says of itself who issues its tokens (RFC 9728).
    ///
    /// ```swift
    /// provider.settings.resource = TestIdentityProvider.Resource(scopes: ["read"])
    /// provider.settings.registersClients = true
    /// let signIn = ResourceSignIn(provider.resourceAddress, software: software, cache: cache)
    /// ```
    public struct Resource: Hashable, Sendable {
        /// The path of the API.
        public var path = "/mcp"
        /// The scopes that its metadata names.
        public var scopes: [String]
        /// The scopes that a call has to have; without them, the answer is 403 with a challenge for them.
        public var demandedScopes: [String] = []
        /// Whether its challenge says where its metadata is.
        public var namesMetadata = true
        /// The issuers that its metadata names; `nil` for the provider's own.
        public var authorizationServers: [String]?
        /// The identifier that its metadata names; `nil` for its own address.
        public var identifier: String?

        /// An API.
        public init(scopes: [String] = []) {
            self.scopes = scopes
        }
    }

    /// The address of the API that ``Settings/resource`` describes: on loopback while the provider listens there, otherwise for
    /// ``transport``.
    public var resourceAddress: String {
        let state = snapshot
        return (state.loopbackOrigin ?? origin) + (state.settings.resource?.path ?? "")
    }
}

extension TestIdentityProvider.Endpoint {
    /// The endpoint at which programs register (RFC 7591).
    public static let registration = Self(rawValue: "registration")
    /// The API of ``TestIdentityProvider/Settings/resource``.
    public static let resource = Self(rawValue: "resource")
    /// The API's metadata (RFC 9728).
    public static let resourceMetadata = Self(rawValue: "resourceMetadata")
}

extension ProviderState {
    /// Returns the endpoint of the API or of its metadata at a path.
    func resourceEndpoint(_ path: String) -> TestIdentityProvider.Endpoint? {
        guard let resource = settings.resource else { return nil }
        if path == resource.path || path.hasPrefix(resource.path + "/") { return .resource }
        return path == Self.metadataPath + resource.path ? .resourceMetadata : nil
    }

    private static let metadataPath = "/.well-known/oauth-protected-resource"

    private func identifier(of resource: TestIdentityProvider.Resource, at address: ProviderAddress) -> String {
        resource.identifier ?? address.origin + resource.path
    }

    /// The API's description of itself.
    func resourceMetadata(at address: ProviderAddress) -> ProviderResponse {
        guard let resource = settings.resource else { return ProviderResponse(status: 404) }
        var json = JSONObject([
            ("resource", .string(identifier(of: resource, at: address))),
            ("authorization_servers", .strings(resource.authorizationServers ?? [issuer(of: address)])),
            ("bearer_methods_supported", .strings(["header"])),
        ])
        if settings.dpop?.isRequired == true { json["dpop_bound_access_tokens_required"] = .bool(true) }
        if !resource.scopes.isEmpty { json["scopes_supported"] = .strings(resource.scopes) }
        return .json(json)
    }

    /// The API's answer to a call.
    func callResource(_ request: ProviderCall) -> ProviderResponse {
        guard let resource = settings.resource else { return ProviderResponse(status: 404) }
        let place = request.address.origin + Self.metadataPath + resource.path
        func challenge(_ status: Int, _ items: [(String, String)]) -> ProviderResponse {
            let items = (resource.namesMetadata ? [("resource_metadata", place)] : []) + items
            let text = items.map { "\($0.0)=\"\($0.1)\"" }.joined(separator: ", ")
            return ProviderResponse(status: status, headers: [("WWW-Authenticate", "Bearer \(text)")])
        }
        let words = (request.header("authorization") ?? "").split(separator: " ").map(String.init)
        guard words.count == 2, let scheme = words.first?.lowercased(), ["bearer", "dpop"].contains(scheme) else {
            return challenge(401, [])
        }
        let bound = accessTokens[words[1]]?.keyID
        guard scheme == (bound == nil ? "bearer" : "dpop") else { return challenge(401, [("error", "invalid_token")]) }
        if bound != nil {
            do {
                let key = try provenKey(request, path: request.message.path, accessToken: words[1])
                guard key == bound else { return challenge(401, [("error", "invalid_token")]) }
            } catch {
                return announcingNonce(
                    ProviderResponse(status: 401, headers: [("WWW-Authenticate", "DPoP error=\"\(error.error)\"")])
                )
            }
        }
        guard let issued = accessTokens[words[1]], issued.expires > request.now,
            let account = account(issued.authorization.username),
            account.revocations == issued.authorization.revocations,
            !revokedFamilies.contains(issued.authorization.family)
        else { return challenge(401, [("error", "invalid_token")]) }
        let granted = issued.authorization.scopes
        guard Set(resource.demandedScopes).isSubset(of: granted) else {
            let scopes = resource.demandedScopes.joined(separator: " ")
            return challenge(403, [("error", "insufficient_scope"), ("scope", scopes)])
        }
        return announcingNonce(
            .json(JSONObject([("sub", .string(account.person.subject)), ("scope", .strings(granted))]))
        )
    }

    /// - Throws: A refusal if a request names another resource than the API, which must be named if there is one.
    func checkResource(_ request: ProviderCall) throws(Refusal) {
        guard let resource = settings.resource, request["grant_type"] != GrantType.tokenExchange.rawValue else {
            return
        }
        guard request["resource"] == identifier(of: resource, at: request.address) else {
            throw Refusal("invalid_target", "The resource is missing, or not known.")
        }
    }

    /// Registers a program.
    ///
    /// - SeeAlso: [RFC 7591 §3](https://www.rfc-editor.org/rfc/rfc7591#section-3)
    mutating func register(_ request: ProviderCall) throws(Refusal) -> ProviderResponse {
        guard settings.registersClients, request.method == "POST" else { return ProviderResponse(status: 404) }
        guard var json = try? JSONObject(parsing: request.message.body),
            let uris = json.strings("redirect_uris"), !uris.isEmpty
        else { throw Refusal("invalid_client_metadata", "There is no JSON with redirect_uris.") }
        let id = "registered-\(clients.count + 1)"
        clients[id] = TestIdentityProvider.Client(id: ClientID(rawValue: id), redirectURIs: uris)
        json["client_id"] = .string(id)
        return .json(json, status: 201)
    }
}
