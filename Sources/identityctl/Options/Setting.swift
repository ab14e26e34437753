// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// A setting of this tool: an option, the variable that stands in for it, and a profile's line.
///
/// The quick way of `token`, profiles, the agent's client, advice and the checks of command lines read this table.
struct Setting: Sendable {
    /// The form of the value.
    enum Kind {
        /// One text.
        case text
        /// The words of one text. Several lines of a profile are one text.
        case words
        /// Texts of an option that may be given several times.
        case list
        /// On or off.
        case `switch`

        /// Whether several lines of a profile may have it.
        var mayRepeat: Bool { self == .words || self == .list }
    }

    struct Traits: OptionSet {
        let rawValue: UInt8

        /// It names a provider.
        static let namesProvider = Traits(rawValue: 1)
        /// An empty line of a profile means something.
        static let mayBeEmpty = Traits(rawValue: 2)
        /// No line of a profile may have it.
        static let isNoLine = Traits(rawValue: 4)
        /// The agent's profile decides it, so that a command that asks an agent refuses it.
        static let isTheAgents = Traits(rawValue: 8)
    }

    /// The way to an option's value.
    private enum Access: Sendable {
        case text(@Sendable (OptionGroups) -> String?, @Sendable (inout OptionGroups, String?) -> Void)
        case list(@Sendable (OptionGroups) -> [String]?, @Sendable (inout OptionGroups, [String]) -> Void)
        case flag(@Sendable (OptionGroups) -> Bool?, @Sendable (inout OptionGroups, Bool) -> Void)
        /// An option that one command has for itself, or none.
        case none
    }

    /// The option without dashes, and a line's name.
    let name: String
    let kind: Kind
    let traits: Traits
    private let access: Access

    var option: String { "--\(name)" }
    var isLine: Bool { !traits.contains(.isNoLine) }
}

/// The groups of options that the table reads and sets. A command leaves out those that it does not have.
struct OptionGroups {
    var provider: ProviderOptions?
    var token: TokenOptions?
    var account: AccountOption?
    var scheme: SchemeOption?
    var silent: SilentOptions?
    var output: OutputOptions?
    var signIn: SignInOptions?
    var browser: BrowserOption?
}

extension Setting {
    /// The values on a command line. A switch has an empty one if it is on.
    func values(in groups: OptionGroups) -> [String] {
        switch access {
        case .text(let get, _): get(groups).map { [$0] } ?? []
        case .list(let get, _): get(groups) ?? []
        case .flag(let get, _): get(groups) == true ? [""] : []
        case .none: []
        }
    }

    /// The value of a text.
    func value(in groups: OptionGroups) -> String? { values(in: groups).first }

    func isGiven(in groups: OptionGroups) -> Bool { !values(in: groups).isEmpty }

    /// Sets the option to its value on a command line without it.
    func clear(in groups: inout OptionGroups) {
        switch access {
        case .text(_, let set): set(&groups, nil)
        case .list(_, let set): set(&groups, [])
        case .flag(_, let set): set(&groups, false)
        case .none: break
        }
    }

    /// Adds a value as the command line does: the last one of a text wins. That of a switch does not matter.
    func add(_ value: String, to groups: inout OptionGroups) {
        switch access {
        case .text(_, let set): set(&groups, value)
        case .list(let get, let set): set(&groups, (get(groups) ?? []) + [value])
        case .flag(_, let set): set(&groups, true)
        case .none: break
        }
    }

}

// The table. Advice names options in its order. It has closures, because key paths are made at run time, and it is on the way
// of every cached token.
extension Setting {
    static let all = ofToken + ofPage + others + AWSRole.names.map { .line("aws-\($0)", .text) }

    /// The options of `token` that are read quickly, and that helpers have.
    static let ofToken = ofProvider + ofRequest + ofSilence

    /// The options that name a provider.
    static let namingProvider = ofProvider.filter { $0.traits.contains(.namesProvider) }

    /// The client, the provider, and the store of the tokens.
    static let ofProvider: [Setting] = [
        .text("client-id", { $0.provider?.clientID }, { $0.provider?.clientID = $1 }),
        .text(
            "authority",
            traits: .namesProvider,
            { $0.provider?.authority },
            { $0.provider?.authority = $1 }
        ),
        .text("issuer", traits: .namesProvider, { $0.provider?.issuer }, { $0.provider?.issuer = $1 }),
        .text("dpop", traits: .isTheAgents, { $0.provider?.dpop }, { $0.provider?.dpop = $1 }),
        .text("resource", traits: .isTheAgents, { $0.provider?.resource }, { $0.provider?.resource = $1 }),
        .flag("assume-pkce", traits: .isTheAgents, { $0.provider?.assumePKCE }, { $0.provider?.assumePKCE = $1 }),
        .text(
            "authorization-endpoint",
            traits: [.namesProvider, .isTheAgents],
            { $0.provider?.authorizationEndpoint },
            { $0.provider?.authorizationEndpoint = $1 }
        ),
        .text(
            "token-endpoint",
            traits: [.namesProvider, .isTheAgents],
            { $0.provider?.tokenEndpoint },
            { $0.provider?.tokenEndpoint = $1 }
        ),
        .text(
            "device-authorization-endpoint",
            traits: .isTheAgents,
            { $0.provider?.deviceAuthorizationEndpoint },
            { $0.provider?.deviceAuthorizationEndpoint = $1 }
        ),
        .text(
            "revocation-endpoint",
            traits: .isTheAgents,
            { $0.provider?.revocationEndpoint },
            { $0.provider?.revocationEndpoint = $1 }
        ),
        .text(
            "id-token-algorithms",
            kind: .words,
            traits: .isTheAgents,
            { $0.provider?.idTokenAlgorithms },
            { $0.provider?.idTokenAlgorithms = $1 }
        ),
        .text("cache", traits: .isTheAgents, { $0.provider?.cache }, { $0.provider?.cache = $1 }),
        .text(
            "default-scopes",
            traits: [.mayBeEmpty, .isTheAgents],
            { $0.provider?.defaultScopes },
            { $0.provider?.defaultScopes = $1 }
        ),
        .text(
            "client-capabilities",
            kind: .words,
            traits: .isTheAgents,
            { $0.provider?.clientCapabilities },
            { $0.provider?.clientCapabilities = $1 }
        ),
        .text("broker", traits: .isTheAgents, { $0.provider?.broker }, { $0.provider?.broker = $1 }),
        .text("group", traits: .isTheAgents, { $0.provider?.group }, { $0.provider?.group = $1 }),
        .text("ca-file", { $0.provider?.caFile }, { $0.provider?.caFile = $1 }),
        .text("proxy", { $0.provider?.proxy }, { $0.provider?.proxy = $1 }),
        .text("profile", traits: .isNoLine, { $0.provider?.profile }, { $0.provider?.profile = $1 }),
        .list(
            "token-parameter",
            traits: .isTheAgents,
            { $0.provider?.tokenParameters },
            { $0.provider?.tokenParameters = $1 }
        ),
        .flag(
            "extended-lifetime",
            traits: .isTheAgents,
            { $0.provider?.extendedLifetime },
            { $0.provider?.extendedLifetime = $1 }
        ),
        .flag(
            "instance-aware",
            traits: .isTheAgents,
            { $0.provider?.instanceAware },
            { $0.provider?.instanceAware = $1 }
        ),
    ]

    /// The token, its account, and how an API sees it. No agent is asked with `--scheme pop`.
    static let ofRequest: [Setting] = [
        .list("scope", { $0.token?.scopes }, { $0.token?.scopes = $1 }),
        .text("claims", { $0.token?.claims }, { $0.token?.claims = $1 }),
        .text("account", { $0.account?.account }, { $0.account?.account = $1 }),
        .text("scheme", { $0.scheme?.scheme }, { $0.scheme?.scheme = $1 }),
    ]

    /// How a token is acquired without a sign-in, and told.
    private static let ofSilence: [Setting] = [
        .flag("force-refresh", { $0.silent?.forceRefresh }, { $0.silent?.forceRefresh = $1 }),
        .flag("cache-only", { $0.silent?.cacheOnly }, { $0.silent?.cacheOnly = $1 }),
        .flag("allow-expired", { $0.silent?.allowExpired }, { $0.silent?.allowExpired = $1 }),
        .text("min-validity", { $0.silent?.minValidity }, { $0.silent?.minValidity = $1 }),
        .flag("id-token", { $0.silent?.idToken }, { $0.silent?.idToken = $1 }),
        // A sign-in has an option of this name, too.
        .text("timeout", { $0.silent?.timeout ?? $0.signIn?.timeout }, { $0.silent?.timeout = $1 }),
        .flag("json", { $0.output?.json }, { $0.output?.json = $1 }),
        .text("log-level", { $0.output?.logLevel }, { $0.output?.logLevel = $1 }),
    ]

    /// The sign-in page, and the browser's return. A sign-in without a page here refuses them.
    static let ofPage: [Setting] = [
        .text("prompt", { $0.signIn?.prompt }, { $0.signIn?.prompt = $1 }),
        .text("login-hint", { $0.signIn?.loginHint }, { $0.signIn?.loginHint = $1 }),
        .text("domain-hint", { $0.signIn?.domainHint }, { $0.signIn?.domainHint = $1 }),
        .text("acr-values", kind: .words, { $0.signIn?.acrValues }, { $0.signIn?.acrValues = $1 }),
        .text("require-amr", kind: .words, { $0.signIn?.requireAMR }, { $0.signIn?.requireAMR = $1 }),
        .text("max-age", { $0.signIn?.maxAge }, { $0.signIn?.maxAge = $1 }),
        .text("ui-locales", kind: .words, { $0.signIn?.uiLocales }, { $0.signIn?.uiLocales = $1 }),
        .text("response-mode", { $0.signIn?.responseMode }, { $0.signIn?.responseMode = $1 }),
        .text("redirect-uri", { $0.signIn?.redirectURI }, { $0.signIn?.redirectURI = $1 }),
        .text("redirect-ports", { $0.signIn?.redirectPorts }, { $0.signIn?.redirectPorts = $1 }),
        .text("browser", { $0.browser?.browser }, { $0.browser?.browser = $1 }),
        .flag("push", { $0.signIn?.push }, { $0.signIn?.push = $1 }),
        .flag("require-acr", { $0.signIn?.requireACR }, { $0.signIn?.requireACR = $1 }),
    ]

    /// The settings of single commands, helpers and the agent.
    private static let others: [Setting] = [
        .line("client-secret", .text, traits: .mayBeEmpty),
        .line("client-secret-is-public", .switch),
        .list("parameter", { $0.signIn?.extraParameters }, { $0.signIn?.extraParameters = $1 }),
        .line("agent-audience", .words),
        .line("agent-confirm", .text),
        .line("agent-scope", .words),
        .line("audience", .list),
        .line("client-metadata", .text),
        .line("device-code", .switch),
        .line("end-session", .switch),
        .line("if-needed", .switch),
        .line("manual", .switch),
        .line("post-logout-redirect-uri", .text),
        .line("print-token", .switch),
        .line("private-window", .switch),
        .line("public-key", .text),
        .line("requested-scope", .list),
        .line("requested-token-type", .text),
        .line("registered", .switch),
        .line("registration-token-file", .text),
        .line("requested-resource", .list),
        .line("revoke", .switch),
        .line("serves", .list),
        .line("sign-in", .text),
        .line("subject", .text),
        .line("username", .text),
        .line("without-browser", .switch),
    ]
}

extension Setting {
    private static func text(
        _ name: String,
        kind: Kind = .text,
        traits: Traits = [],
        _ get: @escaping @Sendable (OptionGroups) -> String?,
        _ set: @escaping @Sendable (inout OptionGroups, String?) -> Void
    ) -> Setting {
        Setting(name: name, kind: kind, traits: traits, access: .text(get, set))
    }

    private static func list(
        _ name: String,
        traits: Traits = [],
        _ get: @escaping @Sendable (OptionGroups) -> [String]?,
        _ set: @escaping @Sendable (inout OptionGroups, [String]) -> Void
    ) -> Setting {
        Setting(name: name, kind: .list, traits: traits, access: .list(get, set))
    }

    private static func flag(
        _ name: String,
        traits: Traits = [],
        _ get: @escaping @Sendable (OptionGroups) -> Bool?,
        _ set: @escaping @Sendable (inout OptionGroups, Bool) -> Void
    ) -> Setting {
        Setting(name: name, kind: .switch, traits: traits, access: .flag(get, set))
    }

    private static func line(_ name: String, _ kind: Kind, traits: Traits = []) -> Setting {
        Setting(name: name, kind: kind, traits: traits, access: .none)
    }
}
