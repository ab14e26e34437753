// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import IdentityClient

/// Options for the token that an exchange gives.
struct ExchangeOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The account's token that is exchanged: access-token, the default, or id-token.",
            valueName: "token"
        ),
        completion: .list(["access-token", "id-token"])
    )
    var subject: String?

    @Option(
        name: .customLong("audience"),
        help: ArgumentHelp(
            "The name of the service that the new token is for, as the provider knows it. Repeatable.",
            valueName: "name"
        )
    )
    var audiences: [String] = []

    @Option(
        name: .customLong("requested-resource"),
        help: ArgumentHelp("The address of the service that the new token is for. Repeatable.", valueName: "uri")
    )
    var resources: [String] = []

    @Option(
        name: .customLong("requested-scope"),
        help: ArgumentHelp("A scope of the new token. Repeatable.", valueName: "scope")
    )
    var requestedScopes: [String] = []

    @Option(
        help: ArgumentHelp(
            "The kind of the new token: access-token, refresh-token, id-token, jwt, saml1, saml2 or a URI.",
            discussion: "The provider's choice unless given.",
            valueName: "type"
        ),
        completion: .list(SecurityToken.TypeIdentifier.words)
    )
    var requestedTokenType: String?
}

/// Options for tokens that do not belong to an account of this tool.
struct GivenTokenOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The file with the token that is exchanged in place of an account's, and nothing else; - for standard input.",
            valueName: "file"
        ),
        completion: .file()
    )
    var subjectTokenFile: String?

    @Option(
        help: ArgumentHelp("The kind of that token, access-token unless given.", valueName: "type"),
        completion: .list(SecurityToken.TypeIdentifier.words)
    )
    var subjectTokenType: String?

    @Option(
        help: ArgumentHelp(
            "The file with the token of the party that will use the new token; - for standard input.",
            valueName: "file"
        ),
        completion: .file()
    )
    var actorTokenFile: String?

    @Option(
        help: ArgumentHelp("The kind of that token, access-token unless given.", valueName: "type"),
        completion: .list(SecurityToken.TypeIdentifier.words)
    )
    var actorTokenType: String?
}

extension GivenTokenOptions {
    /// Returns the tokens in the files.
    ///
    /// - Throws: `UsageError`, `SystemFailure`, `CancellationError`.
    func tokens() async throws -> (subject: SecurityToken?, actor: SecurityToken?) {
        if subjectTokenFile == "-", actorTokenFile == "-" {
            throw UsageError("--actor-token-file: standard input has the subject's token. Give a file.")
        }
        return (
            try await Self.token("subject", subjectTokenFile, subjectTokenType),
            try await Self.token("actor", actorTokenFile, actorTokenType)
        )
    }

    private static func token(_ role: String, _ file: String?, _ type: String?) async throws -> SecurityToken? {
        let type = try type.map { try SecurityToken.TypeIdentifier(Given(text: $0, origin: "--\(role)-token-type")) }
        guard let file else {
            guard type == nil else {
                throw UsageError("--\(role)-token-type: there is no --\(role)-token-file that it could be about.")
            }
            return nil
        }
        let given = Given(text: file, origin: "--\(role)-token-file")
        return SecurityToken(try await TokenInput.token(in: given), type: type ?? .accessToken)
    }
}

/// The new token that the options describe.
struct WantedExchange: Sendable {
    let subject: Given?
    let isIDToken: Bool
    let audiences: [String]
    let resources: [String]
    let scopes: Set<Scope>
    let type: SecurityToken.TypeIdentifier?

    /// - Throws: `UsageError`.
    init(_ options: ExchangeOptions, _ environment: Variables) throws {
        subject = try environment.given("subject", options.subject)
        switch subject?.text {
        case nil, "access-token": isIDToken = false
        case "id-token": isIDToken = true
        case let text?:
            throw UsageError("\(subject?.origin ?? ""): '\(text.printable)' is neither access-token nor id-token.")
        }
        audiences = try environment.each("audience", options.audiences).map { given in
            guard TokenExchangeParameters.isAudience(given.text) else { throw given.error("this names no service.") }
            return given.text
        }
        resources = try environment.each("requested-resource", options.resources).map { given in
            guard TokenExchangeParameters.isResource(given.text) else {
                throw given.error(
                    "'\(given.text.printable)' is no absolute address without a fragment. A name goes into --audience."
                )
            }
            return given.text
        }
        scopes = Set(
            try environment.words("requested-scope", options.requestedScopes).map(Scope.init(rawValue:))
        )
        type = try environment.given("requested-token-type", options.requestedTokenType)
            .map(SecurityToken.TypeIdentifier.init)
    }

    func parameters(_ subject: TokenExchangeParameters.Subject, actor: SecurityToken?) -> TokenExchangeParameters {
        var parameters = TokenExchangeParameters(subject)
        (parameters.actor, parameters.requestedType) = (actor, type)
        (parameters.resources, parameters.audiences, parameters.scopes) = (resources, audiences, scopes)
        return parameters
    }
}

extension SecurityToken.TypeIdentifier {
    private static let named: [(String, Self)] = [
        ("access-token", .accessToken), ("refresh-token", .refreshToken), ("id-token", .idToken), ("jwt", .jwt),
        ("saml1", .saml1), ("saml2", .saml2),
    ]

    /// The words for the registered types.
    static let words = named.map(\.0)

    /// Reads a word for a registered type, or a URI.
    init(_ given: Given) throws {
        let type = Self.named.first { $0.0 == given.text }?.1 ?? Self(rawValue: given.text)
        guard type.isWellFormed else {
            throw given.error(
                "'\(given.text.printable)' is no type of token. Possible are \(Self.words.joined(separator: ", ")) and a URI."
            )
        }
        self = type
    }
}
