// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import IdentityClient
import IdentityResources
import OAuthWire
import SystemSupport

/// The steps from an API's address to a token, each of which is tried. Nothing is registered, and no question is asked.
struct ResourceExamination {
    let provider: ProviderOptions
    let address: String
    let session: Session

    func findings() async throws -> [Finding] {
        let environment = session.environment
        let transport = try provider.transport(environment)
        let known = try KnownResources(environment).profile(for: address)
        var findings: [Finding] = []
        let resource: ProtectedResource
        switch try await DoctorCommand.outcome({
            try await ProtectedResource.discover(at: address, transport: transport)
        }) {
        case .failure(let error): return [.lack("resource", "\(address) does not say who issues its tokens", error)]
        case .success(let found):
            resource = found
            let scopes = found.scopes.isEmpty ? "no scopes" : found.scopes.text
            findings.append(.ok("resource", "\(found.identifier), \(scopes)"))
        }
        let issuer = try environment.above(nil).given("issuer", provider.issuer) ?? known?.given("issuer")
        let variables = known.map(environment.above) ?? environment
        let authority: Authority
        do {
            let assumesPKCE = try variables.isOn("assume-pkce", provider.assumePKCE)
            authority = try resource.authority(issuer: issuer?.text, assumesPKCE: assumesPKCE)
        } catch {
            let listed = resource.authorizationServers.joined(separator: ", ")
            return findings + [.lack("server", listed, error)]
        }
        let metadata = try await DoctorCommand.outcome { try await read(authority, transport) }
        switch metadata {
        case .failure(let error): return findings + [.lack("server", authority.url, error)]
        case .success(let metadata):
            findings += [.ok("server", authority.url), client(known, at: authority, metadata)]
        }
        if resource.requiresDPoP { findings.append(.ok("token", "bound to a key (DPoP)")) }
        return findings + [try await account(known)]
    }

    private func read(_ authority: Authority, _ transport: CurlTransport) async throws -> ProviderMetadata {
        try await ProviderMetadata.read(
            of: authority,
            over: EndpointClient(transport: transport),
            cache: InMemoryTokenCache(),
            group: ClientSoftware.identityctl.group,
            clock: SystemClock(),
            RequestContext(correlationID: nil, logger: session.logger)
        )
    }

    private func client(_ known: Profile?, at authority: Authority, _ metadata: ProviderMetadata) -> Finding {
        let check = "client"
        if let id = known?.given("client-id")?.text, known?.given("issuer")?.text == authority.url {
            return .ok(check, "\(id), known here")
        }
        if metadata.registrationEndpoint != nil { return .ok(check, "the first sign-in registers one") }
        let redirects = ClientSoftware.identityctl.redirectURIs.joined(separator: ", ")
        let advice =
            metadata.takesClientIDMetadataDocument
            ? "Serve the document of 'identityctl registration document URL', and sign in with --client-metadata URL."
            : "Ask who runs it for a public native client with the redirect URIs \(redirects), and give its --client-id."
        return .lack(check, "the server registers no program by itself", advice, .refused)
    }

    private func account(_ known: Profile?) async throws -> Finding {
        let check = "account"
        let advice = "Run: identityctl login --resource \(address.shellWord)"
        guard let known else { return .lack(check, "there was no sign-in", advice, .interactionRequired) }
        let options = try ProviderOptions.parse([])
        let client = ClientExamination(
            options: options,
            environment: session.environment.above(known),
            session: session
        )
        let accounts = try await DoctorCommand.outcome { try await client.accounts() }
        switch accounts {
        case .failure(let error): return .lack(check, "the token store cannot be read", error)
        case .success(let accounts) where accounts.isEmpty:
            return .lack(check, "there is none", advice, .interactionRequired)
        case .success(let accounts):
            let labels = accounts.map(\.label).joined(separator: ", ")
            var notes: [String] = []
            for account in accounts {
                do {
                    if let note = try await client.checkRenewal(of: account) { notes.append(note) }
                } catch let ended as AuthenticationError where .signInExpired ~= ended.code {
                    return .lack(check, account.label, "\(ended.message) \(advice)", .interactionRequired)
                }
            }
            return notes.isEmpty ? .ok(check, labels) : .unknown(check, ([labels] + notes).joined(separator: "; "))
        }
    }
}
