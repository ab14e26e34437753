// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import IdentityBroker
import IdentityClient
import IdentityKeyring
import IdentityResources
import Logging
import OAuthWire
import SystemSupport

/// Options for the client, the provider, and the store for the tokens.
struct ProviderOptions: ParsableArguments {
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
            discussion:
                "Any other address with a path counts as Entra ID, and is refused when it is first used: name those "
                + "by --issuer.",
            valueName: "url"
        )
    )
    var authority: String?

    @Option(
        help: ArgumentHelp(
            "The issuer of any other OpenID Connect provider; with --token-endpoint, that server's name in its answers.",
            valueName: "url"
        )
    )
    var issuer: String?

    @Option(
        help: ArgumentHelp(
            "The address of an API that says who issues its tokens (RFC 9728), such as an MCP server.",
            discussion:
                "The first sign-in finds the server and registers this program there. With --issuer and --client-id "
                + "nothing is looked for, and this is the resource to the byte (RFC 8707).",
            valueName: "url"
        )
    )
    var resource: String?

    @Flag(
        help: ArgumentHelp(
            "Sign in although the resource's server does not publish PKCE, because it is known to check S256.",
            discussion: "Entra ID is such a server. One that publishes other methods alone is refused all the same."
        )
    )
    var assumePKCE = false

    @Option(
        help: ArgumentHelp(
            "Tokens that are bound to a key (DPoP): off (the default), when-offered, or required.",
            discussion:
                "Only with --issuer and --resource. 'call' proves the key with each request; the token alone is of no use to "
                + "other programs. Give it to every command, or keep it in a profile.",
            valueName: "policy"
        ),
        completion: .list(["off", "when-offered", "required"])
    )
    var dpop: String?

    @Option(
        help: ArgumentHelp(
            "The authorization endpoint of a plain OAuth 2.0 server such as GitHub. Needs --token-endpoint.",
            valueName: "url"
        )
    )
    var authorizationEndpoint: String?

    @Option(help: ArgumentHelp("The token endpoint of a plain OAuth 2.0 server.", valueName: "url"))
    var tokenEndpoint: String?

    @Option(
        help: ArgumentHelp(
            "The endpoint for --device-code, if the provider has one and does not publish it.",
            valueName: "url"
        )
    )
    var deviceAuthorizationEndpoint: String?

    @Option(
        help: ArgumentHelp(
            "The endpoint for 'logout --revoke', if the provider has one and does not publish it.",
            valueName: "url"
        )
    )
    var revocationEndpoint: String?

    @Option(
        help: ArgumentHelp(
            "The algorithms that may sign ID tokens, such as 'RS256 ES256', in place of the issuer's published list.",
            discussion: "Named as in RFC 7518 and separated by spaces. Only with --issuer.",
            valueName: "algorithms"
        )
    )
    var idTokenAlgorithms: String?

    @Option(
        help: ArgumentHelp(
            "The store of the tokens: auto (the default), keyring, file, encrypted:key-file=PATH, "
                + "encrypted:credential=NAME, file:DIRECTORY, msal:FILE, msal-keyring:ITEM, or memory.",
            discussion: "Paths are absolute, or in your home with ~/. The store 'memory' ends with the command.",
            valueName: "cache"
        ),
        completion: .list([
            "auto", "keyring", "file", "encrypted:key-file=", "encrypted:credential=", "file:", "msal:",
            "msal-keyring:",
            "memory",
        ])
    )
    var cache: String?

    @Option(
        help: ArgumentHelp(
            "The scopes that are added to --scope, in place of openid, profile and offline_access; may be empty.",
            discussion: "Separated by spaces. A sign-in needs openid, here or by --scope.",
            valueName: "scopes"
        )
    )
    var defaultScopes: String?

    @Option(
        name: .customLong("token-parameter"),
        help: ArgumentHelp(
            "One more parameter of each request for tokens, such as resource=https://api.example.com. Repeatable.",
            discussion:
                "It is sent at the sign-in and at each refresh (RFC 8707's resource, for example). Give it to every "
                + "command, or keep it in a profile: a cached token answers only the parameters that it was requested "
                + "with. Not for secrets.",
            valueName: "name=value"
        )
    )
    var tokenParameters: [String] = []

    @Option(
        help: ArgumentHelp(
            "The capabilities of the tokens' user, such as cp1: claims challenges of Microsoft's APIs, which 'call' answers.",
            discussion: "Separated by spaces. With cp1 Entra ID gives longer-lived tokens that an API may refuse early "
                + "(continuous access evaluation).",
            valueName: "values"
        )
    )
    var clientCapabilities: String?

    @Option(
        help: ArgumentHelp(
            "The use of this computer's identity broker (Entra ID): off (the default), auto (if it can be used), or required.",
            valueName: "use"
        ),
        completion: .list(["off", "auto", "required"])
    )
    var broker: String?

    @Flag(
        help: ArgumentHelp(
            "In an outage, use an expired token for as long as the provider allowed (Entra ID).",
            discussion: "The provider sets that time when it issues the token (ext_expires_in). Standard error has a "
                + "warning, and an API may still refuse the token."
        )
    )
    var extendedLifetime = false

    @Flag(
        help: ArgumentHelp(
            "Accounts of Microsoft's other clouds sign in, too, and are found (Entra ID).",
            discussion: "Your client must be registered in each cloud, and the authority be that of organizations or "
                + "common. Best as a line of a profile."
        )
    )
    var instanceAware = false

    @Option(help: ArgumentHelp("Share the tokens with the programs that name the same group.", valueName: "name"))
    var group: String?

    @Option(
        help: ArgumentHelp(
            "The file with the certificate authorities to trust, in place of the system's.",
            discussion: "PEM. An absolute path, or one in your home with ~/.",
            valueName: "file"
        ),
        completion: .file()
    )
    var caFile: String?

    @Option(
        help: ArgumentHelp(
            "The proxy, such as http://proxy.example:3128, in place of https_proxy and all_proxy; none for no proxy.",
            discussion: "Other users can read a command line: an address with a password belongs into a profile.",
            valueName: "url"
        )
    )
    var proxy: String?

    @Option(
        help: ArgumentHelp(
            "Take the options from this profile ('identityctl profile list'); none for no profile.",
            valueName: "name"
        ),
        completion: ProfileArgument.completion
    )
    var profile: String?
}

extension ProviderOptions {
    /// The question for the client, with the profiles among which nothing chooses.
    private static func whichClient(_ environment: Variables) -> String {
        let names = (try? ProfileDirectory(environment).names()) ?? []  // what cannot be listed is not proposed
        guard environment.profile == nil, !names.isEmpty else {
            return "Which client? Give --client-id or --profile, or set IDENTITYCTL_CLIENT_ID. "
                + "To make a profile: identityctl setup"
        }
        return
            "Which client? Give --profile with one of \(names.prefix(10).map(\.text).joined(separator: ", ")), or choose one for "
            + "always: identityctl profile default \(names[0])"
    }

    /// Returns the configuration of the application object.
    ///
    /// - Parameters:
    ///   - prompting: Whether the person is asked to unlock the keyring.
    ///   - passPhrases: Asks for the pass phrase of a key file; `nil` to ask nothing, for callers that are programs.
    /// - Throws: `UsageError` if an option is missing or cannot be used.
    func configuration(
        _ environment: Variables,
        prompting: KeyringPrompting = .never,
        passPhrases: PassPhrasePrompt? = nil,
        logger: Logger = Logger(label: "identityctl") { _ in SwiftLogNoOpLogHandler() }
    ) throws -> ClientConfiguration {
        if let address = try searchedResource(environment), environment.profile?.isOfResource != true {
            throw AuthenticationError.unknownResource(address)
        }
        guard let clientID = try environment.given("client-id", clientID)?.clientID() else {
            throw UsageError(Self.whichClient(environment))
        }
        var configuration = ClientConfiguration(
            clientID: clientID,
            authority: try chosenAuthority(environment),
            cache: try cacheChoice(environment).cache(
                of: clientID,
                prompting: prompting,
                passPhrases: passPhrases,
                logger: logger
            )
        )
        configuration.dpop = try dpopPolicy(environment, at: configuration.authority)
        configuration.transport = try transport(environment)
        configuration.checksAudience = environment.profile.map { $0.isOfResource && !$0.isNamedWithIssuer } ?? false
        configuration.clientSecret = try clientSecret(environment)
        if try environment.isOn("registered", false) {
            configuration.readSecretOfRegistration(
                in: try cacheChoice(environment).cache(
                    of: ClientID(rawValue: ClientSoftware.identityctl.id),
                    prompting: prompting,
                    passPhrases: passPhrases,
                    logger: logger
                )
            )
        }
        configuration.cacheGroup = try namedGroup(environment)
        configuration.compatibility.defaultScopes = chosenDefaultScopes(environment)
        configuration.extraTokenParameters = try environment.items(
            "token-parameter",
            tokenParameters,
            reserved: TokenRequestMessage.reservedNames
        )
        configuration.broker = try brokerUse(environment)
        configuration.entra.allowsExtendedLifetime = try environment.isOn("extended-lifetime", extendedLifetime)
        configuration.entra.isInstanceAware = try environment.isOn("instance-aware", instanceAware)
        configuration.clientCapabilities = try environment.words(
            "client-capabilities",
            clientCapabilities.map { [$0] } ?? []
        )
        return configuration
    }

    /// Returns the chosen default scopes. An empty option or line of a profile means no scopes. An empty variable counts as unset, as every
    /// empty variable does.
    private func chosenDefaultScopes(_ environment: Variables) -> Set<Scope>? {
        let variable = environment[Variables.variable(for: "default-scopes")]
        guard let text = defaultScopes ?? variable ?? environment.profile?.given("default-scopes")?.text else {
            return nil
        }
        return Set(text.split(whereSeparator: \.isWhitespace).map { Scope(rawValue: String($0)) })
    }

    /// Returns the transport to the provider and its APIs, over the proxy and with the certificates that are named.
    func transport(
        _ environment: Variables,
        timeout: Duration? = nil,
        maximumResponseBytes: Int = 1024 * 1024
    ) throws -> CurlTransport {
        let file = try environment.given("ca-file", caFile)
        if let file, try !SystemCall.exists(environment.path(of: file)) {
            throw file.error("there is no file \(try environment.path(of: file).printable).")
        }
        let proxy = try environment.given("proxy", proxy)
        if let proxy, proxy.text != "none",
            !["http", "https", "socks4", "socks4a", "socks5", "socks5h"].contains(proxy.scheme)
        {
            throw proxy.error("this is no address of a proxy, such as http://proxy.example:3128.")
        }
        return CurlTransport(
            timeout: timeout,
            maximumResponseBytes: maximumResponseBytes,
            certificateAuthorities: try file.map(environment.path(of:)),
            proxy: proxy.map { $0.text == "none" ? "" : $0.text }
        )
    }

    /// Returns the use of the identity broker.
    func brokerUse(_ environment: Variables) throws -> BrokerUse {
        guard let given = try environment.given("broker", broker) else { return .off }
        switch given.text {
        case "off": return .off
        case "auto": return .whenAvailable(LinuxTokenBroker())
        case "required": return .required(LinuxTokenBroker())
        default:
            throw given.error("'\(given.text.printable)' is no use of a broker. Possible are: off, auto, required.")
        }
    }

    /// Returns the store for the tokens.
    func cacheChoice(_ environment: Variables) throws -> CacheChoice {
        try CacheChoice(environment.given("cache", cache), home: environment["HOME"])
    }

    /// Returns the group of the tokens, or `nil` if neither a group nor a client is named.
    func group(_ environment: Variables) throws -> CacheGroup? {
        if let group = try namedGroup(environment) { return group }
        return try environment.given("client-id", clientID).map { .application(ClientID(rawValue: $0.text)) }
    }

    private func namedGroup(_ environment: Variables) throws -> CacheGroup? {
        try environment.given("group", group).map { given in try given.checked { try CacheGroup(given.text) } }
    }
}
