// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityResources
import OAuthWire

/// The provider or the API of a setup.
struct SetupPlace: Sendable {
    /// The words of the command line for a place.
    enum Named: Sendable {
        /// A name or an address.
        case text(String)
        /// Options name it.
        case options
    }

    private enum Kind: Sendable {
        case preset(Preset, domain: String?)
        case issuer(String)
        /// An API, which says who issues its tokens.
        case resource(String)
        case options(ProviderOptions)
    }

    private let kind: Kind

    /// The address for the name of the profile.
    let address: String

    /// Finds what is meant, and asks until it is found.
    ///
    /// - Throws: `UsageError` if no person can be asked, or for an address that is none; errors of the family `.network`;
    ///   `CancellationError`.
    init(
        _ given: Named?,
        _ provider: ProviderOptions,
        _ domain: String?,
        _ session: Session,
        _ questions: Questions?
    ) async throws {
        var kind: Kind?
        switch given {
        case .options: kind = .options(provider)
        case .text(let text): kind = try await Self.kind(text, provider, session)
        case nil:
            guard let questions else {
                throw UsageError(
                    "Where do you sign in? Give a provider's name, or the address of a provider or an API."
                )
            }
            while kind == nil {
                let text = try await questions.answer(
                    to:
                        "Where do you sign in? \(Preset.names.joined(separator: ", ")), or the address of a provider or an API:"
                )
                do {
                    kind = try await Self.kind(text, provider, session)
                } catch let mistake as UsageError {
                    questions.console.line(mistake.message)
                } catch let failure as AuthenticationError where .network ~= failure.code {
                    questions.console.line(failure.message.printable)
                }
            }
        }
        if case .preset(let preset, nil)? = kind {
            var domain = domain
            if domain == nil, preset.needsDomain, let questions {
                questions.console.line(preset.advice)
                domain = try await questions.answer(to: "Its domain:")
            }
            _ = try preset.lines(domain: domain)
            kind = .preset(preset, domain: domain)
        }
        guard let kind else { throw CancellationError() }
        self.kind = kind
        address =
            switch kind {
            case .preset(let preset, let domain):
                try preset.lines(domain: domain).first { $0.value.hasPrefix("https://") }?.value ?? ""
            case .issuer(let address), .resource(let address): address
            case .options(let provider):
                try provider.resource ?? provider.authority(session.environment.withoutOptions)?.url ?? ""
            }
        if case .preset(let preset, _) = kind {
            session.console.line("\(preset.title), as the preset '\(preset.name)' knows it.")
        }
    }

    private static func kind(
        _ text: String,
        _ provider: ProviderOptions,
        _ session: Session
    ) async throws -> Kind {
        if let preset = Preset.all.first(where: { $0.name == text.lowercased() }) {
            return .preset(preset, domain: nil)
        }
        guard text.contains(".") || text.contains(":") else {
            throw UsageError(
                "'\(text.printable)' is no provider that is known by name.\(Suggestion.text(for: text, among: Preset.names)) "
                    + "Give its address, such as https://id.example.com."
            )
        }
        let address = text.contains("://") ? text : "https://\(text)"
        guard let parts = WebAddress(address) else {
            throw UsageError("'\(text.printable)' is no address: https, or http on this computer.")
        }
        if let preset = Preset.all.first(where: { $0.isUsual(at: parts.host) }) { return .preset(preset, domain: nil) }
        do {
            _ = try await ProviderInspection.check(
                .openIDConnect(issuer: address),
                over: provider.transport(session.environment),
                deadline: .seconds(20),
                logger: session.logger
            )
            session.console.line("\(address.printable) is a provider.")
            return .issuer(address)
        } catch let error as AuthenticationError where !(.network ~= error.code) {
            session.console.line(
                "\(address.printable) is no provider, so it is taken for an API, and asked for its provider."
            )
            return .resource(address)
        }
    }

    /// The options of `profile add` that name the place.
    var words: [String] {
        switch kind {
        case .preset(let preset, let domain): ["--preset=\(preset.name)"] + (domain.map { ["--domain=\($0)"] } ?? [])
        case .issuer(let address): ["--issuer=\(address)"]
        case .resource(let address): ["--resource=\(address)"]
        case .options: []
        }
    }

    /// A client, as options of `profile add`.
    struct Client: Sendable {
        var words: [String] = []
        var secret: String?
    }

    /// Returns the client: the given one, one that is registered now, or the one that the person registered.
    ///
    /// - Parameter store: The value of `--cache` that was chosen, in which a registration is kept.
    /// - Throws: `UsageError` if no person can be asked; the errors of a registration; `CancellationError`.
    func client(
        _ provider: ProviderOptions,
        _ store: String?,
        _ session: Session,
        _ questions: Questions?
    ) async throws -> Client {
        if let given = provider.clientID { return Client(words: ["--client-id=\(given)"]) }
        switch kind {
        case .resource:
            session.console.line("The client is registered at the sign-in, where the server allows that.")
            return Client()
        case .preset(let preset, _):
            return try await Self.registered(by: preset.advice, hasSecret: preset.hasSecret, session, questions)
        case .issuer(let issuer):
            do {
                var options = provider
                options.cache = store
                let registration = try await ClientRegistration.obtain(
                    of: .identityctl,
                    at: .openIDConnect(issuer: issuer),
                    cache: options.cacheOfRegistrations(session),
                    transport: options.transport(session.environment)
                )
                session.console.line("Registered there. The client id is \(registration.clientID.rawValue.printable)")
                return Client(words: registration.words)
            } catch let error as AuthenticationError where .clientNotRegistered ~= error.code {
                return try await Self.registered(by: error.message.printable, session, questions)
            }
        case .options:
            guard provider.resource == nil || provider.issuer != nil else { return Client() }
            return try await Self.registered(by: "Register a public client there.", session, questions)
        }
    }

    /// Asks for the client that the person registered.
    private static func registered(
        by advice: String,
        hasSecret: Bool = false,
        _ session: Session,
        _ questions: Questions?
    ) async throws -> Client {
        session.console.line(advice)
        guard let questions else { throw UsageError("Give the client that you registered: --client-id ID") }
        var client = Client(words: ["--client-id=\(try await questions.answer(to: "The client id that you got:"))"])
        client.secret = session.environment["IDENTITYCTL_CLIENT_SECRET"]
        if hasSecret, client.secret == nil {
            let secret = try await session.passPhrases.ask("Its secret, or Return without one")
            client.secret = secret.isEmpty ? nil : secret
        }
        return client
    }
}

extension ClientRegistration {
    /// The options of `profile add` that name the registered client.
    fileprivate var words: [String] {
        ["--client-id=\(clientID.rawValue)", "--set=registered=on"]
            + redirectURI.lines.map { "--set=\($0.name)=\($0.value)" }
    }
}
