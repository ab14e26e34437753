// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

/// The options of a provider that are the same for every client there. It has no client id and no secret.
struct Preset: Sendable {
    let name: String
    let title: String
    /// The page on which a client is registered, and the kind of client.
    let registration: String
    /// The lines of the profile. `{domain}` stands for the value of `--domain`.
    private let template: [(name: String, value: String)]
    /// Whether the client that is registered there has a secret.
    let hasSecret: Bool
    /// The domain without `--domain`; `nil` if there is none.
    private let usualDomain: String?

    var needsDomain: Bool { usualDomain == nil && takesDomain }

    private var takesDomain: Bool { template.contains { $0.value.contains("{domain}") } }

    static let names = all.map(\.name)

    /// - Throws: `UsageError` for an unknown name.
    static func named(_ name: String) throws -> Preset {
        guard let preset = all.first(where: { $0.name == name }) else {
            throw UsageError(
                "--preset: '\(name.printable)' is not a preset.\(Suggestion.text(for: name, among: names)) Possible are: "
                    + "\(names.joined(separator: ", "))."
            )
        }
        return preset
    }

    /// Returns the lines of a profile.
    ///
    /// - Throws: `UsageError` if the domain is missing, not possible, or of no use.
    func lines(domain: String?) throws -> [(name: String, value: String)] {
        guard domain == nil || takesDomain else { throw UsageError("--domain: the preset '\(name)' has none.") }
        guard takesDomain else { return template }
        guard let domain = domain ?? usualDomain else {
            throw UsageError("The preset '\(name)' needs --domain: \(registration)")
        }
        guard domain.utf8.areAlphanumeric(or: ".-:/_"), !domain.isEmpty, !domain.contains("//"), !domain.hasPrefix("/"),
            !domain.hasSuffix("/")
        else {
            throw UsageError("--domain: give a host such as id.example.com, without https://.")
        }
        return template.map {
            ($0.name, $0.value.split(separator: "{domain}", omittingEmptySubsequences: false).joined(separator: domain))
        }
    }

    /// The text for a person who makes a profile.
    var advice: String { "\(title): \(registration)" }

    private init(
        _ name: String,
        _ title: String,
        _ registration: String,
        hasSecret: Bool = false,
        usualDomain: String? = nil,
        _ template: [(name: String, value: String)]
    ) {
        self.name = name
        self.title = title
        self.registration = registration
        self.hasSecret = hasSecret
        self.usualDomain = usualDomain
        self.template = template
    }

    /// For providers that compare all but the port. GitLab and Gitea tell an empty path from a slash.
    private static let loopback = "http://127.0.0.1/"
    /// For providers that compare the port too.
    private static let fixedLoopback = "http://127.0.0.1:8400/"

    static let all: [Preset] = [
        Preset(
            "google",
            "Google",
            "at https://console.cloud.google.com/auth/clients make an OAuth client of the type 'Desktop app'; its secret goes "
                + "into IDENTITYCTL_CLIENT_SECRET while you make the profile; for --device-code the type is 'TVs and Limited "
                + "Input devices', which gets few scopes",
            hasSecret: true,
            [("issuer", "https://accounts.google.com")]
        ),
        Preset(
            "microsoft",
            "Microsoft, work or school accounts",
            "at https://entra.microsoft.com register an application with the platform 'Mobile and desktop applications' and "
                + "the redirect URI http://localhost; for --device-code, allow public client flows; --domain names the tenant",
            usualDomain: "organizations",
            [("authority", "https://login.microsoftonline.com/{domain}"), ("redirect-uri", "http://localhost")]
        ),
        Preset(
            "microsoft-personal",
            "Microsoft, personal accounts",
            "at https://entra.microsoft.com register an application for personal accounts with the platform 'Mobile and "
                + "desktop applications' and the redirect URI http://localhost",
            [("authority", "https://login.microsoftonline.com/consumers"), ("redirect-uri", "http://localhost")]
        ),
        Preset(
            "github",
            "GitHub",
            "at https://github.com/settings/developers make an OAuth app with the callback URL http://127.0.0.1/ and the "
                + "device flow enabled; for a browser, its secret goes into IDENTITYCTL_CLIENT_SECRET while you make the profile",
            hasSecret: true,
            usualDomain: "github.com",
            [
                ("authorization-endpoint", "https://{domain}/login/oauth/authorize"),
                ("token-endpoint", "https://{domain}/login/oauth/access_token"),
                ("device-authorization-endpoint", "https://{domain}/login/device/code"),
                ("redirect-uri", loopback), ("scope", "repo"),
                ("serves", "https://{domain}"),
            ]
        ),
        Preset(
            "gitlab",
            "GitLab",
            "in your preferences, under Applications, add one that is not confidential, with the redirect URI "
                + "http://127.0.0.1/ and the scopes openid, profile, read_repository and write_repository",
            usualDomain: "gitlab.com",
            [
                ("issuer", "https://{domain}"), ("redirect-uri", loopback), ("scope", "read_repository"),
                ("scope", "write_repository"), ("serves", "https://{domain}"),
            ]
        ),
        forge("gitea", "Gitea", "; --domain names the host"),
        forge("forgejo", "Forgejo", "; --domain names the host"),
        forge("codeberg", "Codeberg", "", usualDomain: "codeberg.org"),
        Preset(
            "bitbucket",
            "Bitbucket Cloud",
            "in the workspace's settings, under OAuth consumers, add one with the callback URL http://localhost:8400/ and the "
                + "permissions that it needs, such as Repositories: Write; its secret goes into IDENTITYCTL_CLIENT_SECRET "
                + "while you make the profile",
            hasSecret: true,
            [
                ("authorization-endpoint", "https://bitbucket.org/site/oauth2/authorize"),
                ("token-endpoint", "https://bitbucket.org/site/oauth2/access_token"),
                ("redirect-uri", "http://localhost:8400/"), ("username", "x-token-auth"),
                ("serves", "https://bitbucket.org"),
            ]
        ),
        Preset(
            "okta",
            "Okta",
            "in the Admin Console make an app integration of the type 'Native Application' with the redirect URI "
                + "http://127.0.0.1:8400/, the grant 'Refresh Token', and for --device-code 'Device Authorization'; --domain names "
                + "your organization, such as example.okta.com",
            [("issuer", "https://{domain}"), ("redirect-uri", fixedLoopback)]
        ),
        Preset(
            "auth0",
            "Auth0",
            "in the dashboard make an application of the type 'Native' with the callback URL http://127.0.0.1:8400/ and the grant "
                + "'Refresh Token'; --domain names the tenant, such as example.eu.auth0.com; a token for an API also needs "
                + "--set parameter=audience=URL, and there 'Allow Offline Access'",
            [("issuer", "https://{domain}/"), ("redirect-uri", fixedLoopback)]
        ),
        Preset(
            "keycloak",
            "Keycloak",
            "in the realm make a client with the standard flow, and for --device-code the device grant, without client "
                + "authentication, with the redirect URI http://127.0.0.1/*; --domain is the host and the realm's path, such as "
                + "id.example.com/realms/example",
            [("issuer", "https://{domain}")]
        ),
        Preset(
            "fastmail",
            "Fastmail, for IMAP and SMTP",
            "Fastmail registers clients itself, see https://www.fastmail.com/for-developers/oauth/; name the redirect URI "
                + "http://localhost/",
            [
                ("authorization-endpoint", "https://api.fastmail.com/oauth/authorize"),
                ("token-endpoint", "https://api.fastmail.com/oauth/refresh"),
                ("revocation-endpoint", "https://api.fastmail.com/oauth/revoke"),
                ("redirect-uri", "http://localhost/"),
                ("scope", "https://www.fastmail.com/dev/protocol-imap"),
                ("scope", "https://www.fastmail.com/dev/protocol-smtp"),
            ]
        ),
        Preset(
            "reddit",
            "Reddit",
            "at https://www.reddit.com/prefs/apps make an app of the type 'installed app' with the redirect URI "
                + "http://127.0.0.1:8400/; it has no secret",
            [
                ("authorization-endpoint", "https://www.reddit.com/api/v1/authorize"),
                ("token-endpoint", "https://www.reddit.com/api/v1/access_token"),
                ("revocation-endpoint", "https://www.reddit.com/api/v1/revoke_token"),
                ("client-secret", ""), ("parameter", "duration=permanent"),
                ("redirect-uri", fixedLoopback), ("scope", "identity"),
            ]
        ),
        Preset(
            "yahoo",
            "Yahoo Mail, for IMAP and SMTP",
            "at https://developer.yahoo.com/apps/create/ make an app with the redirect URI https://localhost/, whose address "
                + "you paste after the sign-in; its secret goes into IDENTITYCTL_CLIENT_SECRET while you make the profile; Yahoo "
                + "gives the scope mail-w only to clients that it has approved",
            hasSecret: true,
            [
                ("authorization-endpoint", "https://api.login.yahoo.com/oauth2/request_auth"),
                ("token-endpoint", "https://api.login.yahoo.com/oauth2/get_token"),
                ("revocation-endpoint", "https://api.login.yahoo.com/oauth2/revoke"),
                ("redirect-uri", "https://localhost/"), ("manual", "on"), ("scope", "mail-w"),
            ]
        ),
    ]

    /// Returns the preset of a server that is Gitea or descends from it.
    private static func forge(_ name: String, _ title: String, _ domain: String, usualDomain: String? = nil) -> Preset {
        Preset(
            name,
            title,
            "in your settings, under Applications, make an OAuth2 application that is not confidential, with the redirect "
                + "URI http://127.0.0.1/\(domain)",
            usualDomain: usualDomain,
            [("issuer", "https://{domain}"), ("redirect-uri", loopback), ("serves", "https://{domain}")]
        )
    }
}
