// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser

extension ParsableArguments {
    /// The options of a command line that gives none of them.
    static var ungiven: Self { get throws { try parse([]) } }
}

/// The groups of options of a command, with the values of the settings in them. A command leaves out those that it does not have.
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

extension OptionGroups {
    /// The values on a command line. A switch has an empty one if it is on.
    func values(of setting: Setting) -> [String] {
        switch Self.access(setting.name) {
        case .text(let get, _): get(self).map { [$0] } ?? []
        case .list(let get, _): get(self) ?? []
        case .flag(let get, _): get(self) == true ? [""] : []
        case nil: []
        }
    }

    func isGiven(_ setting: Setting) -> Bool { !values(of: setting).isEmpty }

    /// Sets the option to its value on a command line without it.
    mutating func clear(_ setting: Setting) {
        switch Self.access(setting.name) {
        case .text(_, let set): set(&self, nil)
        case .list(_, let set): set(&self, [])
        case .flag(_, let set): set(&self, false)
        case nil: break
        }
    }

    /// Adds a value as the command line does: the last one of a text wins. That of a switch does not matter.
    mutating func add(_ value: String, to setting: Setting) {
        switch Self.access(setting.name) {
        case .text(_, let set): set(&self, value)
        case .list(let get, let set): set(&self, (get(self) ?? []) + [value])
        case .flag(_, let set): set(&self, true)
        case nil: break
        }
    }
}

// The way to each option's value, in the order of the table of settings. A setting that one command has for itself has none.
// Closures and no dictionary, because key paths and hashes are made at run time, and this is on the way of every cached token.
extension OptionGroups {
    private enum Access: Sendable {
        case text(@Sendable (OptionGroups) -> String?, @Sendable (inout OptionGroups, String?) -> Void)
        case list(@Sendable (OptionGroups) -> [String]?, @Sendable (inout OptionGroups, [String]) -> Void)
        case flag(@Sendable (OptionGroups) -> Bool?, @Sendable (inout OptionGroups, Bool) -> Void)
    }

    private static let access: [(name: String, way: Access)] = [
        ("client-id", .text({ $0.provider?.clientID }, { $0.provider?.clientID = $1 })),
        ("authority", .text({ $0.provider?.authority }, { $0.provider?.authority = $1 })),
        ("issuer", .text({ $0.provider?.issuer }, { $0.provider?.issuer = $1 })),
        ("dpop", .text({ $0.provider?.dpop }, { $0.provider?.dpop = $1 })),
        ("resource", .text({ $0.provider?.resource }, { $0.provider?.resource = $1 })),
        ("assume-pkce", .flag({ $0.provider?.assumePKCE }, { $0.provider?.assumePKCE = $1 })),
        (
            "authorization-endpoint",
            .text(
                { $0.provider?.authorizationEndpoint },
                { $0.provider?.authorizationEndpoint = $1 }
            )
        ),
        ("token-endpoint", .text({ $0.provider?.tokenEndpoint }, { $0.provider?.tokenEndpoint = $1 })),
        (
            "device-authorization-endpoint",
            .text(
                { $0.provider?.deviceAuthorizationEndpoint },
                { $0.provider?.deviceAuthorizationEndpoint = $1 }
            )
        ),
        ("revocation-endpoint", .text({ $0.provider?.revocationEndpoint }, { $0.provider?.revocationEndpoint = $1 })),
        ("id-token-algorithms", .text({ $0.provider?.idTokenAlgorithms }, { $0.provider?.idTokenAlgorithms = $1 })),
        ("cache", .text({ $0.provider?.cache }, { $0.provider?.cache = $1 })),
        ("default-scopes", .text({ $0.provider?.defaultScopes }, { $0.provider?.defaultScopes = $1 })),
        ("client-capabilities", .text({ $0.provider?.clientCapabilities }, { $0.provider?.clientCapabilities = $1 })),
        ("broker", .text({ $0.provider?.broker }, { $0.provider?.broker = $1 })),
        ("group", .text({ $0.provider?.group }, { $0.provider?.group = $1 })),
        ("ca-file", .text({ $0.provider?.caFile }, { $0.provider?.caFile = $1 })),
        ("proxy", .text({ $0.provider?.proxy }, { $0.provider?.proxy = $1 })),
        ("profile", .text({ $0.provider?.profile }, { $0.provider?.profile = $1 })),
        ("token-parameter", .list({ $0.provider?.tokenParameters }, { $0.provider?.tokenParameters = $1 })),
        ("extended-lifetime", .flag({ $0.provider?.extendedLifetime }, { $0.provider?.extendedLifetime = $1 })),
        ("instance-aware", .flag({ $0.provider?.instanceAware }, { $0.provider?.instanceAware = $1 })),
        ("scope", .list({ $0.token?.scopes }, { $0.token?.scopes = $1 })),
        ("claims", .text({ $0.token?.claims }, { $0.token?.claims = $1 })),
        ("account", .text({ $0.account?.account }, { $0.account?.account = $1 })),
        ("scheme", .text({ $0.scheme?.scheme }, { $0.scheme?.scheme = $1 })),
        ("force-refresh", .flag({ $0.silent?.forceRefresh }, { $0.silent?.forceRefresh = $1 })),
        ("cache-only", .flag({ $0.silent?.cacheOnly }, { $0.silent?.cacheOnly = $1 })),
        ("allow-expired", .flag({ $0.silent?.allowExpired }, { $0.silent?.allowExpired = $1 })),
        ("min-validity", .text({ $0.silent?.minValidity }, { $0.silent?.minValidity = $1 })),
        ("id-token", .flag({ $0.silent?.idToken }, { $0.silent?.idToken = $1 })),
        // A sign-in has an option of this name, too.
        ("timeout", .text({ $0.silent?.timeout ?? $0.signIn?.timeout }, { $0.silent?.timeout = $1 })),
        ("json", .flag({ $0.output?.json }, { $0.output?.json = $1 })),
        ("log-level", .text({ $0.output?.logLevel }, { $0.output?.logLevel = $1 })),
        ("prompt", .text({ $0.signIn?.prompt }, { $0.signIn?.prompt = $1 })),
        ("login-hint", .text({ $0.signIn?.loginHint }, { $0.signIn?.loginHint = $1 })),
        ("domain-hint", .text({ $0.signIn?.domainHint }, { $0.signIn?.domainHint = $1 })),
        ("acr-values", .text({ $0.signIn?.acrValues }, { $0.signIn?.acrValues = $1 })),
        ("require-amr", .text({ $0.signIn?.requireAMR }, { $0.signIn?.requireAMR = $1 })),
        ("max-age", .text({ $0.signIn?.maxAge }, { $0.signIn?.maxAge = $1 })),
        ("ui-locales", .text({ $0.signIn?.uiLocales }, { $0.signIn?.uiLocales = $1 })),
        ("response-mode", .text({ $0.signIn?.responseMode }, { $0.signIn?.responseMode = $1 })),
        ("redirect-uri", .text({ $0.signIn?.redirectURI }, { $0.signIn?.redirectURI = $1 })),
        ("redirect-ports", .text({ $0.signIn?.redirectPorts }, { $0.signIn?.redirectPorts = $1 })),
        ("browser", .text({ $0.browser?.browser }, { $0.browser?.browser = $1 })),
        ("push", .flag({ $0.signIn?.push }, { $0.signIn?.push = $1 })),
        ("require-acr", .flag({ $0.signIn?.requireACR }, { $0.signIn?.requireACR = $1 })),
        ("parameter", .list({ $0.signIn?.extraParameters }, { $0.signIn?.extraParameters = $1 })),
    ]

    private static func access(_ name: String) -> Access? { access.first { $0.name == name }?.way }
}
