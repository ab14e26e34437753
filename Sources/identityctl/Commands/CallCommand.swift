// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import Glibc
import HTTPTypes
import IdentityClient
import IdentityResources

/// The command that sends a request to an API with the token of an account.
struct CallCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "call",
        abstract: "Sends a request to an API with an account's access token, and prints the answer's body.",
        discussion: """
            The token is acquired without a question, renewed once if the API refuses it, and sent only to the URL's \
            origin; that of a resource only to the resource's address and below it. The status is 22 if the API answers with another status than 200 to 299; the body is printed \
            nevertheless. The status is 2 if a person has to sign in. On a terminal, control characters in the answer \
            are shown as text.
            """
    )

    @Argument(help: ArgumentHelp("The address: https, or http on this computer.", valueName: "url"))
    var url: String

    @OptionGroup var provider: ProviderOptions
    @OptionGroup var token: TokenOptions
    @OptionGroup var account: AccountOption
    @OptionGroup var scheme: SchemeOption
    @OptionGroup var message: MessageOptions
    @OptionGroup var output: OutputOptions

    var isVerbose: Bool { message.verbose }
    var clientOptions: ProviderOptions? { provider }
    var asksAgent: Bool { true }

    var readsSignIns: Bool { true }
    var sharedOptions: SharedOptions { SharedOptions(provider, token, account, scheme) }

    func route(_ variables: Environment, _ lines: ProfileLines) throws -> TokenRoute {
        try .calling(url, provider, variables, lines)
    }

    func run(in session: Session) async throws {
        let address = try URL(called: url)
        let resource = session.route.resource
        let asking = Asking.ofCommand(session.environment, isTerminal: session.console.isTerminal)
        if let resource {
            if asking == .here {
                try await signIn(for: resource, [], in: session)
            } else if session.environment.profile?.isOfResource != true {
                throw AuthenticationError.unknownResource(resource)
            }
        }
        let environment = session.environment
        let scopes = try token.scopes(environment)
        let claims = try token.claims(environment)
        let timeout = try message.chosenTimeout()
        var request = HTTPRequest(try message.chosenMethod(), to: address, headerFields: try message.fields())
        let body = try await message.body()
        if body != nil, request.headerFields[.contentType] == nil {
            request.headerFields[.contentType] = message.defaultContentType
        }

        try scheme.checkWorksWithoutAgent(environment)
        let scheme = try scheme.chosen(environment)
        let access = try await access(in: session)
        if let claims {
            var parameters = SilentParameters(scopes: scopes, account: access.account, claims: claims)
            parameters.scheme = scheme
            _ = try await access.acquire(parameters)
        }
        let personal = asking == .here ? resource.map { PersonalAccess(self, access, scopes, for: $0, session) } : nil
        let client = try client(access, scopes, scheme, timeout: timeout, signingInWith: personal, session)
        let response = try await answer(to: request, body, client, session.console)
        guard response.status.kind == .successful else { throw APIRefusal(response, now: Int64(time(nil))) }
    }

    func advice(on error: any Error, in session: Session) -> String? {
        if case AuthenticationError.Code.networkTimedOut = error {
            return "To allow more time, give --timeout SECONDS."
        }
        if case AuthenticationError.interactionRequired = error, let resource = session.route.resource {
            return "Run: \(sharedOptions.replacing("--resource", with: resource.text).command("login"))"
        }
        guard session.route.agent != nil else { return nil }
        return AgentAdvice.text(of: error) ?? PlainReport.advice(error, sharedOptions, at: " where the agent runs")
    }
}
