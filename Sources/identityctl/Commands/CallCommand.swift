// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import FoundationEssentials
import HTTPTypes
import IdentityClient

/// A request to an API, with the token of an account.
struct CallCommand: ToolCommand {
    static let configuration = CommandConfiguration(
        commandName: "call",
        abstract: "Sends a request to an API with an account's access token, and prints the answer's body.",
        discussion: """
            The token is acquired without asking anyone, renewed once when the API refuses it, and sent to no other \
            origin than the URL's. Ends with status 22 when the API answers with another status than 200 to 299; its \
            body is printed all the same. Ends with status 2 when a person has to sign in.
            """
    )

    @Argument(help: ArgumentHelp("Where to: https, or http on this computer.", valueName: "url"))
    var url: String

    @OptionGroup var provider: ProviderOptions
    @OptionGroup var token: TokenOptions
    @OptionGroup var account: AccountOption
    @OptionGroup var message: MessageOptions
    @OptionGroup var output: OutputOptions

    var sharedOptions: SharedOptions { SharedOptions(provider, token, account) }

    func run(in session: Session) async throws {
        let environment = session.environment
        let scopes = try token.scopes(environment)
        let claims = try token.claims(environment)
        let wanted = try environment.given("account", account.account)
        guard let url = URL(string: url) else { throw UsageError("'\(url.printable)' is not a URL.") }
        var request = HTTPRequest(try message.chosenMethod(), to: url, headerFields: try message.fields())
        let body = try await message.body()
        if body != nil, request.headerFields[.contentType] == nil {
            request.headerFields[.contentType] = message.defaultContentType
        }

        let application = try session.application(provider.configuration(environment, logger: session.logger))
        let account = try await application.chosenAccount(wanted)
        if let claims {
            _ = try await application.acquireTokenSilently(
                SilentParameters(scopes: scopes, account: account, claims: claims)
            )
        }
        let client = AuthenticatedClient(application: application, account: account, scopes: scopes)
        let response = try await answer(to: request, body, client, session)
        guard response.status.kind == .successful else { throw UnexpectedResponse(response: response, body: []) }
    }

    /// Sends it, and puts the answer's body where it belongs.
    private func answer(
        to request: HTTPRequest,
        _ body: RequestBody?,
        _ client: AuthenticatedClient,
        _ session: Session
    ) async throws -> HTTPResponse {
        let path = message.output == "-" ? "/dev/stdout" : message.output
        guard message.upload == nil, path == nil else {
            let transfer =
                if let path {
                    client.download(request, body: body, to: path)
                } else {
                    client.upload(body ?? .bytes([]), with: request)
                }
            var bar = ProgressBar()
            for await progress in transfer.progress { session.console.progress(bar.text(progress, at: .now)) }
            session.console.clearProgress()
            let (response, body) = try await transfer.value
            try StandardStream.output.write(body)
            return response
        }
        let (response, answer) = try await client.stream(request, body: body)
        for try await piece in answer { try StandardStream.output.write(piece) }
        return response
    }
}
