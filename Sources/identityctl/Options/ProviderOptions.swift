// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import IdentityClient
import IdentityKeyring
import Logging

/// Whose sign-in it is: the client, the provider, and where tokens rest.
struct ProviderOptions: ParsableArguments {
    /// What no program that this one starts has to know.
    static let secretVariables: Set = [Environment.variable(for: "client-secret")]

    @Option(
        help: ArgumentHelp(
            "The client id that the provider gave your program. A secret that came with it goes into "
                + "IDENTITYCTL_CLIENT_SECRET.",
            valueName: "id"
        )
    )
    var clientID: String?

    @Option(
        help: ArgumentHelp(
            "A Microsoft authority: Entra ID, B2C, External ID or AD FS, told apart by its form.",
            valueName: "url"
        )
    )
    var authority: String?

    @Option(help: ArgumentHelp("Any other OpenID Connect provider's issuer.", valueName: "url"))
    var issuer: String?

    @Option(
        help: ArgumentHelp(
            "Where --device-code asks for a code, if the issuer has such an endpoint and does not publish it.",
            valueName: "url"
        )
    )
    var deviceAuthorizationEndpoint: String?

    @Option(
        help: ArgumentHelp(
            "Where tokens rest: auto (the default), keyring, file, file:DIRECTORY, or memory.",
            valueName: "cache"
        ),
        completion: .list(["auto", "keyring", "file", "file:", "memory"])
    )
    var cache: String?

    @Option(
        help: ArgumentHelp(
            "What is asked for beside --scope, in place of openid, profile and offline_access; may be empty.",
            valueName: "scopes"
        )
    )
    var defaultScopes: String?

    @Option(
        help: ArgumentHelp(
            "What your use of the tokens can handle, such as cp1: claims challenges of Microsoft's APIs, which 'call' answers.",
            valueName: "values"
        )
    )
    var clientCapabilities: String?

    @Option(help: ArgumentHelp("Share the tokens with the programs that name the same group.", valueName: "name"))
    var group: String?
}

extension ProviderOptions {
    /// What an application object is made of.
    ///
    /// - Parameter prompting: Whether the person is asked to unlock the keyring.
    /// - Throws: `UsageError` when an option is missing or cannot be used.
    func configuration(
        _ environment: Environment,
        prompting: KeyringPrompting = .never,
        logger: Logger = Logger(label: "identityctl") { _ in SwiftLogNoOpLogHandler() }
    ) throws -> PublicClientApplication.Configuration {
        guard let clientID = try environment.given("client-id", clientID) else {
            throw UsageError("Which client? Give --client-id, or set IDENTITYCTL_CLIENT_ID.")
        }
        var configuration = PublicClientApplication.Configuration(
            clientID: ClientID(rawValue: clientID.text),
            authority: try chosenAuthority(environment),
            cache: try cacheChoice(environment).cache(prompting: prompting, logger: logger)
        )
        configuration.clientSecret = try clientSecret(environment)
        configuration.cacheGroup = try namedGroup(environment)
        configuration.defaultScopes = chosenDefaultScopes(environment)
        configuration.clientCapabilities = try environment.words(
            "client-capabilities",
            clientCapabilities.map { [$0] } ?? []
        )
        return configuration
    }

    /// An empty option means none; an empty variable counts as unset, as every other.
    private func chosenDefaultScopes(_ environment: Environment) -> Set<Scope>? {
        guard let text = defaultScopes ?? environment[Environment.variable(for: "default-scopes")] else { return nil }
        return Set(text.split(whereSeparator: \.isWhitespace).map { Scope(rawValue: String($0)) })
    }

    /// The secret of the environment. A variable only: everybody can read the command line.
    ///
    /// `nil` where the command line names another client or provider than the environment does, which then gave no secret.
    private func clientSecret(_ environment: Environment) throws -> ClientSecret? {
        func own(_ name: String) -> String? { environment[Environment.variable(for: name)] }
        let providers = (own("authority"), own("issuer"))
        let isOtherClient = clientID != nil && own("client-id") != nil && own("client-id") != clientID
        let isOtherProvider =
            (authority != nil || issuer != nil) && providers != (nil, nil) && providers != (authority, issuer)
        guard !isOtherClient, !isOtherProvider else { return nil }
        return try environment.given("client-secret", nil).map { ClientSecret(rawValue: $0.text) }
    }

    /// Where tokens rest.
    func cacheChoice(_ environment: Environment) throws -> CacheChoice {
        try CacheChoice(environment.given("cache", cache), home: environment["HOME"])
    }

    /// Whose tokens are meant, where a group or a client is named.
    func group(_ environment: Environment) throws -> CacheGroup? {
        if let group = try namedGroup(environment) { return group }
        return try environment.given("client-id", clientID).map { .application(ClientID(rawValue: $0.text)) }
    }

    private func namedGroup(_ environment: Environment) throws -> CacheGroup? {
        try environment.given("group", group).map { given in try given.checked { try CacheGroup(given.text) } }
    }

    private func chosenAuthority(_ environment: Environment) throws -> Authority {
        if let authority = try authority(environment) { return authority }
        throw UsageError(
            """
            Which provider? Give --authority URL for Entra ID, B2C, External ID and AD FS, or --issuer URL for any \
            other OpenID Connect provider (or set IDENTITYCTL_AUTHORITY or IDENTITYCTL_ISSUER).
            """
        )
    }

    /// The provider, where one is named.
    func authority(_ environment: Environment) throws -> Authority? {
        // What the command line says replaces whichever of the two the environment says.
        let onCommandLine = authority != nil || issuer != nil
        let source = onCommandLine ? Environment([:]) : environment
        let endpoint = try source.given("device-authorization-endpoint", deviceAuthorizationEndpoint)
        switch (try source.given("authority", authority), try source.given("issuer", issuer)) {
        case (let given?, nil):
            if let endpoint { throw endpoint.error("goes with --issuer; a Microsoft authority needs none.") }
            do {
                return try Authority(url: given.text)
            } catch let refusal as AuthenticationError {
                throw given.error("\(refusal.message) Its option is --issuer.")
            }
        case (nil, let given?):
            let authority = try given.checked { try Authority.openIDConnect(issuer: given.text) }
            guard let endpoint else { return authority }
            return try endpoint.checked {
                try .openIDConnect(issuer: given.text, deviceAuthorization: endpoint.text)
            }
        case (let authority?, let issuer?):
            throw UsageError("Give one of \(authority.origin) and \(issuer.origin), not both.")
        case (nil, nil):
            return nil
        }
    }
}

extension Given {
    /// What `make` makes of the text; a refusal of the library names the option.
    func checked<Value>(_ make: () throws -> Value) throws -> Value {
        do {
            return try make()
        } catch let refusal as AuthenticationError {
            throw error(refusal.message)
        }
    }
}
