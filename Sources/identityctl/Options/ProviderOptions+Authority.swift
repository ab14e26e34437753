// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

// The choice of the provider, and the client secret for it.
extension ProviderOptions {
    static let noResource = "this is no address of a resource: https, or http on this computer."

    /// The advice for a provider that was named as a Microsoft provider and is not one.
    static let isNotMicrosoft = """
        --authority is for Entra ID, B2C, External ID and AD FS. For any other OpenID Connect provider give --issuer URL in \
        its place.
        """

    /// Returns whether an error may mean that the named provider is not a Microsoft provider.
    static func isOther(_ error: any Error, _ authority: Authority) -> Bool {
        guard let code = (error as? AuthenticationError)?.code, authority.isMicrosoft else { return false }
        return [.untrustedAuthority, .configuration].contains(code)
    }

    /// The options that name a provider, with their values on the command line.
    private var names: [(name: String, value: String?)] {
        Setting.namingProvider.map { ($0.name, OptionGroups(provider: self).values(of: $0).first) }
    }

    var isOnCommandLine: Bool { names.contains { $0.value != nil } }

    private func isIn(_ environment: Variables) -> Bool {
        names.contains { environment[Variables.variable(for: $0.name)] != nil }
    }

    /// Whether the command line or the environment names a client or a provider.
    func namesOne(_ environment: Variables) -> Bool {
        clientID != nil || environment[Variables.variable(for: "client-id")] != nil || isOnCommandLine
            || isIn(environment)
    }

    /// Returns the client secret from its variable, or from the profile whose client and provider are used. It has no option, because every user can read command lines.
    ///
    /// Returns `nil` if the command line names another client or provider than the environment does, because the secret
    /// does not belong to it.
    func clientSecret(_ environment: Variables) throws -> ClientSecret? {
        if let profile = environment.profile, profile.given("client-id") != nil, !namesOne(environment) {
            return try profile.given("client-secret")?.secret()
        }
        func own(_ name: String) -> String? { environment[Variables.variable(for: name)] }
        let provider = names.map { own($0.name) }
        let isOtherClient = clientID != nil && own("client-id") != nil && own("client-id") != clientID
        let isOtherProvider =
            isOnCommandLine && provider.contains { $0 != nil } && provider != names.map(\.value)
        guard !isOtherClient, !isOtherProvider else { return nil }
        return try environment.above(nil).given("client-secret", nil)?.secret()
    }

    func chosenAuthority(_ environment: Variables) throws -> Authority {
        if let authority = try authority(environment) { return authority }
        throw UsageError(
            """
            Which provider? Give --authority URL for Entra ID, B2C, External ID and AD FS, --issuer URL for any other OpenID \
            Connect provider, or --authorization-endpoint URL and --token-endpoint URL for a plain OAuth 2.0 server (or set \
            their variables, for example IDENTITYCTL_ISSUER, or name a --profile).
            """
        )
    }

    /// Returns the provider, or `nil` if none is named.
    ///
    /// If the command line names a provider, the environment is ignored, and if the environment names one, the profile.
    func authority(_ environment: Variables) throws -> Authority? {
        let source = isOnCommandLine ? Variables([:]) : isIn(environment) ? environment.above(nil) : environment
        let issuer = try source.given("issuer", issuer)
        let authorization = try source.given("authorization-endpoint", authorizationEndpoint)
        let token = try source.given("token-endpoint", tokenEndpoint)
        let device = try source.given("device-authorization-endpoint", deviceAuthorizationEndpoint)
        let revocation = try source.given("revocation-endpoint", revocationEndpoint)
        let algorithms = try source.given("id-token-algorithms", idTokenAlgorithms)
        let resource = try source.given("resource", resource)
        if let authority = try source.given("authority", authority) {
            if let other = issuer ?? authorization ?? token {
                throw UsageError("Give one of \(authority.origin) and \(other.origin), not both.")
            }
            if let endpoint = device ?? revocation {
                throw endpoint.error("goes with --issuer or --token-endpoint; a Microsoft authority needs none.")
            }
            if let other = algorithms ?? resource {
                throw other.error("goes with --issuer; a Microsoft authority needs none.")
            }
            return try Self.microsoft(authority)
        }
        for given in [issuer, authorization, token, device, revocation].compactMap(\.self) {
            // Checks each option by itself, so that the error names the right option.
            _ = try given.checked { try Authority.openIDConnect(issuer: given.text) }
        }
        switch (authorization, token) {
        case (let authorization?, let token?):
            if let algorithms {
                throw algorithms.error("goes with --issuer alone; a plain OAuth 2.0 server issues no ID tokens.")
            }
            return try .oauth2(
                Authority.OAuth2Endpoints(
                    authorization: authorization.text,
                    token: token.text,
                    deviceAuthorization: device?.text,
                    revocation: revocation?.text,
                    issuer: issuer?.text
                )
            )
        case (let given?, nil): throw given.error("a plain OAuth 2.0 server needs --token-endpoint as well.")
        case (nil, let given?): throw given.error("a plain OAuth 2.0 server needs --authorization-endpoint as well.")
        case (nil, nil):
            guard let issuer else { return nil }
            if let resource {
                if let other = device ?? revocation ?? algorithms {
                    throw other.error("the server of a resource publishes that. Leave it out.")
                }
                let profile = environment.profile
                let identifier = profile?.isOfResource == true ? profile?.given("resource") : nil
                let assumesPKCE = try source.isOn("assume-pkce", assumePKCE)
                return try resource.checked {
                    try .oauth2(issuer: issuer.text, resource: (identifier ?? resource).text, assumesPKCE: assumesPKCE)
                }
            }
            let make = { (algorithms: [String]?) in
                try Authority.openIDConnect(
                    issuer: issuer.text,
                    deviceAuthorization: device?.text,
                    revocation: revocation?.text,
                    idTokenAlgorithms: algorithms
                )
            }
            return try algorithms.map { given in try given.checked { try make(given.words) } } ?? make(nil)
        }
    }

    /// Returns the policy for bound tokens.
    ///
    /// - Parameter authority: The provider that must be able to follow it, if it is known.
    func dpopPolicy(_ environment: Variables, at authority: Authority? = nil) throws -> DPoPPolicy {
        guard let given = try environment.given("dpop", dpop) else { return .off }
        guard let policy = DPoPPolicy(rawValue: given.text) else {
            throw given.error("'\(given.text.printable)' is no policy. Possible are: off, when-offered, required.")
        }
        if let authority { try given.checked { try authority.check(policy) } }
        return policy
    }

    private static func microsoft(_ given: Given) throws -> Authority {
        do {
            return try Authority(url: given.text)
        } catch let refusal as AuthenticationError {
            throw given.error("\(refusal.message) Its option is --issuer.")
        }
    }
}

// A resource that is named by its address.
extension ProviderOptions {
    /// Returns the address of the resource that is named; `nil` if a provider on the command line takes its place.
    func namedResource(_ environment: Variables) throws -> Given? {
        // A provider on the command line replaces the variables of another one.
        guard resource != nil || !isOnCommandLine else { return nil }
        return try environment.given("resource", resource)
    }

    /// Returns the same, if its server or the client there is left to the search.
    func searchedResource(_ environment: Variables) throws -> Given? {
        try namesServer(environment) ? nil : namedResource(environment)
    }

    /// Returns the same, if its server and the client there are named as well.
    func wholeResource(_ environment: Variables) throws -> Given? {
        try namesServer(environment) ? namedResource(environment) : nil
    }

    private func namesServer(_ environment: Variables) throws -> Bool {
        try environment.profile?.isOfResource != true && environment.given("issuer", issuer) != nil
            && environment.given("client-id", clientID) != nil
    }
}

extension AuthenticationError {
    /// The error for a resource without a sign-in.
    static func unknownResource(_ address: Given) -> AuthenticationError {
        AuthenticationError(
            .noTokensFound,
            "There was no sign-in for \(address.text.printable) here yet, and no server is known for it."
        )
    }
}
