// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityKeyring
import IdentityResources
import OAuthWire
import SystemSupport

extension ResourceSearch {
    /// The message that begins a session of MCP.
    private static let initialize = Array(
        """
        {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},\
        "clientInfo":{"name":"identityctl","version":"\(LibraryVersion.current)"}}}
        """.utf8
    )

    /// The search that the options ask for.
    ///
    /// - Parameter isMCP: Whether the person calls the address a server of MCP.
    /// - Throws: `UsageError`.
    init(
        for address: Given,
        _ provider: ProviderOptions,
        _ registration: RegistrationOptions,
        _ token: TokenOptions,
        isMCP: Bool = false,
        _ session: Session
    ) async throws {
        let environment = session.environment
        let (profile, variables) = (environment.profile, environment.above(nil))
        guard WebAddress(address.text) != nil else {
            throw address.error("'\(address.text.printable)': \(ProviderOptions.noResource)")
        }
        self.init(
            address.text,
            software: try await registration.software(environment, provider),
            cache: try provider.cacheOfRegistrations(session),
            memory: try KnownResources(environment)
        )
        transport = try provider.transport(environment)
        if isMCP || profile?.isOfMCP == true { message = Self.initialize }
        isWhole = try provider.wholeResource(environment) != nil
        let issuer = try variables.given("issuer", provider.issuer)
        let ofProfile = profile?.own("issuer")
        self.issuer = issuer?.text ?? ofProfile
        isNamed =
            if let issuer {
                issuer.isOption && address.isOfCall
            } else {
                // A profile is the person's, or the administrator's.
                ofProfile != nil && profile?.own("resource").map { WireText.areSame($0, address.text) } == true
            }
        clientID = try (variables.given("client-id", provider.clientID)?.text ?? profile?.own("client-id")).map(
            ClientID.init(rawValue:)
        )
        let scopes = try token.scopes(profile?.isOfResource == true ? variables : environment)
        self.scopes = scopes.isEmpty ? nil : scopes
        dpop = try provider.dpopPolicy(environment)
        assumesPKCE = try environment.isOn("assume-pkce", provider.assumePKCE)
    }
}

extension FoundResource {
    /// The lines that the sign-in, and later commands, read.
    func profile(_ known: KnownResource) throws -> Profile { try Profile(known, path: resource.identifier) }

    /// Asks on the terminal, where no page can.
    ///
    /// - Parameter command: The command that answers beforehand.
    /// - Throws: `.userCancelled` without consent; `.noTokensFound` if there is no terminal to ask on.
    func ask(_ question: BrowserQuestion, _ console: Console, orRun command: String) async throws {
        guard console.isTerminal else {
            throw AuthenticationError(
                .noTokensFound,
                "A person has to say whether to sign in at \(authority.url.printable) for \(resource.place.printable), and none can be "
                    + "asked here.",
                underlyingError: UnansweredQuestion(command: command)
            )
        }
        for line in [question.title] + question.sentences { console.line(line.printable) }
        for detail in question.details { console.line("  \(detail.label): \(detail.text.printable)") }
        console.line("Sign in? [y/N]")
        let lines = try await LineReader(missing: "Nothing was typed")
        let answer = try await lines.next(until: .now + .seconds(300)).lowercased()
        guard ["y", "yes"].contains(answer) else {
            throw AuthenticationError(.userCancelled, "The sign-in at \(authority.url) was refused.")
        }
    }
}

extension ProviderOptions {
    /// Returns the store of what this tool registered at servers.
    func cacheOfRegistrations(_ session: Session) throws -> any TokenCache {
        let cache = try cacheChoice(session.environment).cache(
            of: ClientID(rawValue: ClientSoftware.identityctl.id),
            prompting: session.environment.hasScreen ? .allowed() : .never,
            passPhrases: session.passPhrases,
            logger: session.logger
        )
        if let cache = cache as? DesktopTokenCache { session.uses(cache, ClientSoftware.identityctl.group) }
        return cache
    }
}
