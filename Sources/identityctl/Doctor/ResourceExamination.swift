// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityResources
import OAuthWire
import SystemSupport

/// The steps from an API's address to a token, each of which is tried. Nothing is registered, and no question is asked.
struct ResourceExamination {
    let provider: ProviderOptions
    let address: String
    let session: Session

    /// A mistake in a line, such as that of a certificate authority, is a finding.
    func findings() async throws -> [Finding] {
        switch try await DoctorCommand.outcome(examine) {
        case .success(let findings): return findings
        case .failure(let error): return [.lack("options", "they cannot be used", error)]
        }
    }

    private func examine() async throws -> [Finding] {
        let environment = session.environment
        let known = try KnownResources(environment).profile(for: address)
        // The lines of the profile that is usual are about other addresses.
        let isNamed = try environment.above(nil).given("profile", provider.profile) != nil
        session.use(isNamed ? environment.profile : known)
        var search = try await ResourceSearch(
            for: Given(text: address, origin: Given.calledAddress),
            provider,
            RegistrationOptions.ungiven,
            TokenOptions.ungiven,
            session
        )
        // What servers say is read anew.
        search.cache = InMemoryTokenCache()
        return try await findings(search, known)
    }

    private func findings(_ search: ResourceSearch, _ known: Profile?) async throws -> [Finding] {
        var findings: [Finding] = []
        let resource: ProtectedResource
        switch try await DoctorCommand.outcome({ try await search.resource() }) {
        case .failure(let error): return [.lack("resource", "\(address) does not say who issues its tokens", error)]
        case .success(let found):
            resource = found
            let scopes = found.scopes.isEmpty ? "no scopes" : found.scopes.text
            findings.append(.ok("resource", "\(found.identifier), \(scopes)"))
        }
        switch try await DoctorCommand.outcome({ try await search.server(of: resource) }) {
        case .failure(let error):
            return findings + [.lack("server", resource.authorizationServers.joined(separator: ", "), error)]
        case .success(let found):
            findings += [.ok("server", found.authority.url), try await client(known, found)]
        }
        if resource.requiresDPoP { findings.append(.ok("token", "bound to a key (DPoP)")) }
        return findings + [try await account(known)]
    }

    private func client(_ known: Profile?, _ found: FoundResource) async throws -> Finding {
        let check = "client"
        if let known, let id = known.given("client-id")?.text, known.given("issuer")?.text == found.authority.url {
            guard let forgotten = try KnownResources(session.environment).forgotten(known) else {
                return .ok(check, "\(id), known here")
            }
            let text = "\(id), which the server did not know any more at \(forgotten.utcText)"
            return .lack(check, text, "The next sign-in registers anew. \(advice)", .interactionRequired)
        }
        switch try await DoctorCommand.outcome({ try await found.checkClient() }) {
        case .success: return .ok(check, "the first sign-in registers one")
        case .failure(let error):
            guard found.metadata.takesClientIDMetadataDocument else {
                return .lack(check, "the server registers no program by itself", error)
            }
            let advice =
                "Serve the document of 'identityctl registration document URL', and sign in with --client-metadata URL."
            return .lack(check, "the server registers no program by itself", advice, .refused)
        }
    }

    private var login: SharedOptions { SharedOptions().adding("--resource", address) }
    private var advice: String { "Run: \(login.command("login"))" }

    private func account(_ known: Profile?) async throws -> Finding {
        let check = "account"
        guard let known else { return .lack(check, "there was no sign-in", advice, .interactionRequired) }
        let options = try ProviderOptions.ungiven
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
                switch try await DoctorCommand.outcome({ try await client.checkRenewal(of: account) }) {
                case .success(let note): if let note { notes.append(note) }
                case .failure(let error): return .lack(check, account.label, error, signingInWith: login)
                }
            }
            return notes.isEmpty ? .ok(check, labels) : .unknown(check, ([labels] + notes).joined(separator: "; "))
        }
    }
}
