// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// A setting of this tool: an option, the variable that stands in for it, and a profile's line.
///
/// The quick way of `token`, profiles, the agent's client, advice and the checks of command lines read this table;
/// ``OptionGroups`` knows where each option's value stands.
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

    /// The option without dashes, and a line's name.
    let name: String
    let kind: Kind
    let traits: Traits

    private init(_ name: String, _ kind: Kind, _ traits: Traits = []) {
        (self.name, self.kind, self.traits) = (name, kind, traits)
    }

    var option: String { "--\(name)" }
    var isLine: Bool { !traits.contains(.isNoLine) }
}

// The table. Advice names options in its order.
extension Setting {
    static let all = ofToken + ofPage + others + awsNames.map { Setting("aws-\($0)", .text) }

    /// The names of the options of the helper for AWS, without dashes. A profile and a variable have them with `aws-` before.
    static let awsNames = ["role-arn", "role-session-name", "duration", "sts-endpoint", "region"]

    /// The options of `token` that are read quickly, and that helpers have.
    static let ofToken = ofProvider + ofRequest + ofSilence

    /// The options that name a provider.
    static let namingProvider = ofProvider.filter { $0.traits.contains(.namesProvider) }

    /// The client, the provider, and the store of the tokens.
    static let ofProvider: [Setting] = [
        Setting("client-id", .text),
        Setting("authority", .text, .namesProvider),
        Setting("issuer", .text, .namesProvider),
        Setting("dpop", .text, .isTheAgents),
        Setting("resource", .text, .isTheAgents),
        Setting("assume-pkce", .switch, .isTheAgents),
        Setting("authorization-endpoint", .text, [.namesProvider, .isTheAgents]),
        Setting("token-endpoint", .text, [.namesProvider, .isTheAgents]),
        Setting("device-authorization-endpoint", .text, .isTheAgents),
        Setting("revocation-endpoint", .text, .isTheAgents),
        Setting("id-token-algorithms", .words, .isTheAgents),
        Setting("cache", .text, .isTheAgents),
        Setting("default-scopes", .text, [.mayBeEmpty, .isTheAgents]),
        Setting("client-capabilities", .words, .isTheAgents),
        Setting("broker", .text, .isTheAgents),
        Setting("group", .text, .isTheAgents),
        Setting("ca-file", .text),
        Setting("proxy", .text),
        Setting("profile", .text, .isNoLine),
        Setting("token-parameter", .list, .isTheAgents),
        Setting("extended-lifetime", .switch, .isTheAgents),
        Setting("instance-aware", .switch, .isTheAgents),
    ]

    /// The token, its account, and how an API sees it. No agent is asked with `--scheme pop`.
    static let ofRequest: [Setting] = [
        Setting("scope", .list),
        Setting("claims", .text),
        Setting("account", .text),
        Setting("scheme", .text),
    ]

    /// How a token is acquired without a sign-in, and reported.
    private static let ofSilence: [Setting] = [
        Setting("force-refresh", .switch),
        Setting("cache-only", .switch),
        Setting("allow-expired", .switch),
        Setting("min-validity", .text),
        Setting("id-token", .switch),
        Setting("timeout", .text),
        Setting("json", .switch),
        Setting("log-level", .text),
    ]

    /// The sign-in page, and the browser's return. A sign-in without a page here refuses them.
    static let ofPage: [Setting] = [
        Setting("prompt", .text),
        Setting("login-hint", .text),
        Setting("domain-hint", .text),
        Setting("acr-values", .words),
        Setting("require-amr", .words),
        Setting("max-age", .text),
        Setting("ui-locales", .words),
        Setting("response-mode", .text),
        Setting("redirect-uri", .text),
        Setting("redirect-ports", .text),
        Setting("browser", .text),
        Setting("push", .switch),
        Setting("require-acr", .switch),
    ]

    /// The settings of single commands, helpers and the agent. The manual of profiles has the words behind those that are no option.
    private static let others: [Setting] = [
        // The secret that the provider gave with the client id. An empty value is an empty password.
        Setting("client-secret", .text, .mayBeEmpty),
        // Others may read the file with the secret: the provider gives the same to everybody.
        Setting("client-secret-is-public", .switch),
        Setting("parameter", .list),
        // The audiences that a request to the agent may name.
        Setting("agent-audience", .words),
        // The agent asks you first: always, or a time such as 15m for which a yes counts.
        Setting("agent-confirm", .text),
        // The scopes that a program may ask the agent for, or * for all.
        Setting("agent-scope", .words),
        Setting("audience", .list),
        Setting("client-metadata", .text),
        Setting("device-code", .switch),
        Setting("end-session", .switch),
        // The address to which 'identityctl forward' passes requests with the token; the profile serves it.
        Setting("forward", .text),
        // Who may use the forwarder: phantom (who has the word), user (your programs), or both. A port wants both, a socket user.
        Setting("forward-access", .text),
        // Requests that the forwarder passes, such as GET,HEAD /v1/models; all below its address without the line.
        Setting("forward-allow", .list),
        // The forwarder passes cookies.
        Setting("forward-cookies", .switch),
        // The field that takes the token, such as x-api-key: {token}, in place of Authorization: Bearer {token}.
        Setting("forward-header", .text),
        // The forwarder's port on this computer. Without the line one is chosen, and kept.
        Setting("forward-port", .text),
        // The statuses by which the server says that it took the token back, such as 401,403; 401 without the line.
        Setting("forward-renew-on", .text),
        // How long a request waits for the sign-in that it began, such as 2m; 50s without the line.
        Setting("forward-wait", .text),
        Setting("if-needed", .switch),
        Setting("manual", .switch),
        Setting("post-logout-redirect-uri", .text),
        Setting("print-token", .switch),
        Setting("private-window", .switch),
        Setting("public-key", .text),
        Setting("requested-scope", .list),
        Setting("requested-token-type", .text),
        // This program registered the client itself; 'identityctl setup' writes the line.
        Setting("registered", .switch),
        Setting("registration-token-file", .text),
        Setting("requested-resource", .list),
        Setting("revoke", .switch),
        // An address whose helpers get the profile's token: git, docker and others.
        Setting("serves", .list),
        // Whether programs may begin a sign-in at your desktop: never, or when-needed.
        Setting("sign-in", .text),
        // The program that has the sign-in, in place of this one: gnome-online-accounts. A line account names which.
        Setting("source", .text),
        Setting("subject", .text),
        // The name that goes with the token, for helpers whose program wants one.
        Setting("username", .text),
        Setting("without-browser", .switch),
    ]
}
