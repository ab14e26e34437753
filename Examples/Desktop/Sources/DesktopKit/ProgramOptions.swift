// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import ArgumentParser
import FoundationEssentials
public import IdentityClient
import IdentityKeyring

/// The options of all programs: the cloud, the redirect, the place of the sign-in page, the broker, and the token
/// cache.
public struct ProgramOptions: ParsableArguments, Sendable {
    /// The client id of a registration.
    @Option(
        help: ArgumentHelp("The client id of your registration; needs --authority or --issuer too.", valueName: "id")
    )
    public var clientID: String?

    /// The provider's address.
    @Option(
        help: ArgumentHelp("The provider: the address of a Microsoft tenant or B2C policy.", valueName: "url")
    )
    public var authority: String?

    /// The issuer of another provider.
    @Option(help: ArgumentHelp("Any other OpenID Connect provider, by its issuer.", valueName: "url"))
    public var issuer: String?

    /// The address of a running stand-in.
    @Option(
        help: ArgumentHelp("Use the stand-in at this address, which `swift run stand-in` prints.", valueName: "url")
    )
    public var standIn: String?

    /// The address to which the browser returns; `nil` means the settings file's, or the loopback interface.
    @Option(
        help: ArgumentHelp(
            "The redirect URI: a loopback address, or one with a scheme of the program's own (com.example.app://auth).",
            valueName: "address"
        )
    )
    public var redirectURI: String?

    /// The place where the sign-in page is shown.
    @Option(help: "Where the sign-in page is shown: browser (the system's) or embedded (a window of the program).")
    public var page = PageChoice.browser

    /// The use of the computer's identity broker.
    @Option(help: "Ask this computer's identity broker (Entra ID): off, auto (if it can be used) or required.")
    public var broker = BrokerChoice.off

    /// The token cache; `nil` means the default.
    @Option(
        help: """
            Where tokens rest: desktop (the keyring protects them; the default), file or memory (the default with the \
            program's own stand-in).
            """
    )
    public var cache: CacheChoice?

    /// The folder for files; `nil` means the user's state directory.
    @Option(help: ArgumentHelp("Where --cache file and desktop keep their files.", valueName: "path"))
    public var cacheDirectory: String?

    /// The name of the group of programs that share a sign-in.
    @Option(help: ArgumentHelp("Share the sign-in with the programs that name the same group.", valueName: "name"))
    public var group: String?

    /// Whether the program starts beside a running one.
    @Flag(help: "Start another program, with these options, even if one is running.")
    public var standalone = false

    /// The redirect with which the desktop starts the program.
    @Argument(
        help: ArgumentHelp("The redirect that the desktop starts the program with.", valueName: "redirect")
    )
    public var redirect: String?

    /// Creates unset options, which the parser fills.
    public init() {}

    /// Refuses half of a registration, an invalid address, and an unusable group name.
    public func validate() throws {
        guard authority == nil || issuer == nil else {
            throw ValidationError("--authority and --issuer name a provider each. Give one of them.")
        }
        guard clientID == nil || authority ?? issuer != nil else {
            throw ValidationError("--client-id needs --authority or --issuer too; with none, the cloud is a stand-in.")
        }
        guard redirect.map({ URL(string: $0)?.hasOwnScheme == true }) ?? true else {
            throw ValidationError("The argument is no redirect to a scheme of the program's own.")
        }
        _ = try namedAuthority
        _ = try namedRedirectURI
        _ = try cacheGroup
    }

    private var namedRedirectURI: RedirectURI? {
        get throws {
            try naming("--redirect-uri") {
                guard let redirectURI else { return nil }
                guard let address = try RedirectURI.receivable(redirectURI, page: page) else {
                    throw ValidationError(
                        """
                        --redirect-uri is a loopback address such as http://localhost, or has a scheme of the program's \
                        own, such as com.example.app://auth.
                        """
                    )
                }
                return address
            }
        }
    }

    private var namedAuthority: Authority? {
        get throws {
            try naming("--authority") { try authority.map { try Authority(url: $0) } }
                ?? naming("--issuer") { try issuer.map { try Authority.openIDConnect(issuer: $0) } }
        }
    }

    /// The named group; `nil` means this program alone.
    public var cacheGroup: CacheGroup? {
        get throws { try naming("--group") { try group.map { try CacheGroup($0) } } }
    }

    /// Returns the registration at a real provider; `nil` means the stand-in.
    ///
    /// - Parameter settings: The registration in a settings file. Options replace its parts.
    /// - Throws: `ValidationError` if a provider is named without a client id.
    public func registration(else settings: Registration? = nil) throws -> Registration? {
        guard let authority = try namedAuthority else { return settings }
        guard let clientID = clientID.map({ ClientID(rawValue: $0) }) ?? settings?.clientID else {
            throw ValidationError("A provider needs --client-id too; with neither, the cloud is a stand-in.")
        }
        return Registration(
            clientID: clientID,
            authority: authority,
            redirectURI: settings?.redirectURI ?? .loopback
        )
    }

    private func naming<Value>(_ option: String, _ make: () throws -> Value) throws -> Value {
        do {
            return try make()
        } catch let error as AuthenticationError {
            throw ValidationError("\(option): \(error.message)")
        }
    }

    /// Applies the chosen group, redirect URI, page and broker to a configuration with a program's own settings.
    public func configure(_ configuration: inout ClientConfiguration) throws {
        configuration.cacheGroup = try cacheGroup ?? configuration.cacheGroup
        configuration.redirectURI = try namedRedirectURI ?? configuration.redirectURI
        configuration.show(page)
        configuration.broker = broker.use
    }

    /// Returns the chosen cache.
    ///
    /// - Parameters:
    ///   - applicationName: The name that the person sees in the keyring.
    ///   - use: The permission that the person has given.
    ///   - cloudEndsWithProgram: Whether the tokens are useless after the program's end.
    public func tokenCache(applicationName: String, _ use: CacheUse, cloudEndsWithProgram: Bool) -> any TokenCache {
        if use == .memory { return InMemoryTokenCache() }
        switch cache ?? (cloudEndsWithProgram ? .memory : .desktop) {
        case .desktop:
            return DesktopTokenCache(
                applicationName: applicationName,
                directory: cacheDirectory,
                prompting: use == .asking ? .allowed() : .never
            )
        case .file: return FileTokenCache(directory: cacheDirectory)
        case .memory: return InMemoryTokenCache()
        }
    }
}

/// The use of the token cache at a start.
public enum CacheUse: Sendable {
    /// The program has just been started: a locked keyring does not ask for its password.
    case quiet
    /// The person tries again: a locked keyring may ask.
    case asking
    /// The person continues without the chosen cache, and is signed out when the program ends.
    case memory
}

/// A program's registration at a provider.
public struct Registration: Sendable, Equatable {
    /// The program's client id.
    public var clientID: ClientID
    /// The provider's authority.
    public var authority: Authority
    /// The redirect URI.
    public var redirectURI: RedirectURI

    /// Creates a registration.
    public init(clientID: ClientID, authority: Authority, redirectURI: RedirectURI = .loopback) {
        self.clientID = clientID
        self.authority = authority
        self.redirectURI = redirectURI
    }
}

/// The storage of tokens.
public enum CacheChoice: String, ExpressibleByArgument, CaseIterable, Sendable {
    /// Encrypted files whose key is in the keyring.
    case desktop
    /// Clear-text files.
    case file
    /// Memory only: every account is signed out when the program ends.
    case memory
}
