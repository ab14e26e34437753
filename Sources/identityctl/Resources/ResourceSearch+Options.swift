// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityKeyring
import IdentityResources
import OAuthWire
import SystemSupport

/// The search for the server of a resource, and for a client there, before a sign-in.
struct ResourceSearch {
    let provider: ProviderOptions
    let registration: RegistrationOptions
    let token: TokenOptions
    let session: Session

    /// The needs of a sign-in.
    struct Found: Sendable {
        let address: String
        let resource: ProtectedResource
        let authority: Authority
        /// The lines that the sign-in, and later commands, read.
        let profile: Profile
        /// Whether the server or the client is named, or known from an earlier sign-in.
        let isConfigured: Bool
    }

    /// Returns the resource's address if one is given without the server that issues its tokens.
    static func address(_ provider: ProviderOptions, _ environment: Environment) throws -> Given? {
        guard let given = try environment.given("resource", provider.resource) else { return nil }
        let isWhole =
            try environment.profile?.isOfResource != true && environment.given("issuer", provider.issuer) != nil
            && environment.given("client-id", provider.clientID) != nil
        return isWhole ? nil : given
    }

    /// The error for a resource without a sign-in.
    static func unknown(_ address: Given) -> AuthenticationError {
        AuthenticationError(
            .noTokensFound,
            "There was no sign-in for \(address.text.printable) here yet, and no server is known for it."
        )
    }

    /// Asks the resource, and registers the tool at its server if need be.
    ///
    /// - Parameter refused: The registered client that the server does not know any more.
    /// - Throws: `UsageError`; the errors of `ProtectedResource.discover` and `ClientRegistration.obtain`; `.untrustedAuthority`
    ///   if the resource names another server than before.
    func run(for given: Given, replacing refused: ClientID? = nil) async throws -> Found {
        let environment = session.environment
        let known = environment.profile.flatMap { $0.isOfResource ? $0 : nil }
        let transport = try provider.transport(environment)
        let address = known?.given("resource")?.text ?? given.text
        let resource: ProtectedResource
        do {
            resource = try await ProtectedResource.discover(at: address, transport: transport)
        } catch AuthenticationError.Code.invalidArgument {
            throw given.error("'\(address.printable)': \(ProviderOptions.noResource)")
        }
        let variables = environment.above(nil)
        let issuer = try variables.given("issuer", provider.issuer) ?? known?.given("issuer")
        let assumesPKCE = try environment.isOn("assume-pkce", provider.assumePKCE)
        let authority = try resource.authority(issuer: issuer?.text, assumesPKCE: assumesPKCE)
        let dpop = try resource.requiresDPoP ? .required : provider.dpopPolicy(environment)
        let client = try variables.given("client-id", provider.clientID)
        var scopes = try token.scopes(variables)
        // Those that an earlier sign-in had to ask for stay.
        if scopes.isEmpty {
            scopes = resource.scopes.union(try known.map { try token.scopes(variables.above($0)) } ?? [])
        }
        let isConfigured = client != nil || issuer != nil
        let profile: Profile
        if let client {
            let software = ClientSoftware.identityctl
            profile = try Profile(
                resource: resource.identifier,
                issuer: authority.url,
                clientID: ClientID(rawValue: client.text),
                redirectURI: software.redirectURIs[0],
                ports: software.redirectPorts,
                scopes: scopes,
                dpop: dpop,
                assumesPKCE: authority.assumesPKCE,
                isRegistered: false
            )
        } else {
            let registration = try await register(at: authority, transport, replacing: refused)
            profile = try registration.profile(for: resource, at: authority, scopes, dpop)
        }
        return Found(
            address: given.text,
            resource: resource,
            authority: authority,
            profile: profile,
            isConfigured: isConfigured
        )
    }

    private func register(
        at authority: Authority,
        _ transport: CurlTransport,
        replacing refused: ClientID?
    ) async throws -> ClientRegistration {
        let environment = session.environment
        var (software, file) = try registration.software(environment)
        if var file {
            if file.text != "-" { file = Given(text: try file.path(environment), origin: file.origin) }
            software.initialAccessToken = try await file.contentAsToken()
        }
        let cache = try provider.cacheOfRegistrations(session)
        return try await ClientRegistration.obtain(
            of: software,
            at: authority,
            cache: cache,
            transport: transport,
            replacing: refused
        )
    }

    /// Asks on the terminal, where no page can.
    ///
    /// - Throws: `.userCancelled` without consent; `UsageError` if there is no terminal to ask on.
    static func ask(_ question: BrowserQuestion, _ authority: Authority, _ console: Console) async throws {
        guard console.isTerminal else {
            throw UsageError(
                "There is no terminal for the question whether to sign in at \(authority.url.printable). To say that you trust it, give "
                    + "--issuer \(authority.url.shellWord)."
            )
        }
        for line in [question.title] + question.sentences { console.line(line.printable) }
        console.line("Sign in? [y/N]")
        let lines = try await LineReader(missing: "Nothing was typed")
        let answer = try await lines.next(until: .now + .seconds(300)).lowercased()
        guard ["y", "yes"].contains(answer) else {
            throw AuthenticationError(.userCancelled, "The sign-in at \(authority.url) was refused.")
        }
    }
}

extension ClientRegistration {
    fileprivate func profile(
        for resource: ProtectedResource,
        at authority: Authority,
        _ scopes: Set<Scope>,
        _ dpop: DPoPPolicy
    ) throws -> Profile {
        guard case .loopback(let host, let ports, let path) = redirectURI.kind else {
            throw UsageError("The registration's redirect URI is not on the loopback interface.")
        }
        return try Profile(
            resource: resource.identifier,
            issuer: authority.url,
            clientID: clientID,
            redirectURI: "http://\((host ?? .ipv4).rawValue)\(path)",
            ports: ports,
            scopes: scopes,
            dpop: dpop,
            assumesPKCE: authority.assumesPKCE,
            isRegistered: true
        )
    }
}

extension ProviderOptions {
    /// Returns the store of what this tool registered at servers.
    func cacheOfRegistrations(_ session: Session) throws -> any TokenCache {
        try cacheChoice(session.environment).cache(
            of: ClientID(rawValue: ClientSoftware.identityctl.id),
            prompting: session.environment.hasScreen ? .allowed() : .never,
            passPhrases: session.passPhrases,
            logger: session.logger
        )
    }
}
