// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
public import IdentityClient
import OAuthWire
import Synchronization

/// A sign-in for an API whose address is all that the program knows.
///
/// The first sign-in finds the server that issues the tokens (RFC 9728 and 8414), and opens the browser, whose first page asks
/// whether the person wants that. Then it gets a client there (RFC 7591), and the page of the server follows. All of it is kept
/// in the cache: later the token comes from there, for all processes, without a request to the API or the server.
///
/// ```swift
/// let software = ClientSoftware(id: "com.example.notes", name: "Example Notes")
/// let signIn = ResourceSignIn("https://api.example.com/mcp", software: software, cache: FileTokenCache())
/// let api = try await signIn.client()
/// let (response, body) = try await api.get(URL(string: signIn.address)!)
/// ```
public struct ResourceSignIn: Sendable {
    /// The party that decides about a sign-in.
    ///
    /// ```swift
    /// signIn.interaction = .never  // in a daemon
    /// ```
    @nonexhaustive public enum Interaction: Sendable {
        /// Never: where a person is needed, the call throws `.interactionRequired`.
        case never
        /// The person, on a page of the system's browser, which asks before the first sign-in at a server. A browser that
        /// ``ResourceSignIn/configure`` sets must be a `SystemBrowserLauncher`: no other can ask.
        case browser
        /// The program, before the first sign-in at a server, with the resource and the authority. Show both addresses to the
        /// person. `false` ends the sign-in with `.userCancelled`.
        case asking(@Sendable (ProtectedResource, Authority) async throws -> Bool)
    }

    /// The address of the API, as ``ProtectedResource/discover(at:transport:requiresSameResource:)`` takes it.
    public var address: String

    /// The program, which registers itself where it can.
    public var software: ClientSoftware

    /// The cache of the tokens, the registration, and what is known about the resource.
    public var cache: any TokenCache

    /// The party that decides about a sign-in. ``Interaction/browser`` unless set.
    public var interaction = Interaction.browser

    /// The client that was registered by hand at the server. `nil`, the default, if the program registers itself. It says nothing
    /// about which server is trusted. A sign-in with another client is not used.
    public var clientID: ClientID?

    /// The issuer that the program trusts to issue tokens for ``address``. With one, there is no question before the first sign-in.
    /// A sign-in at another issuer is not used. `nil`, the default, for the one that the resource names.
    public var issuer: String?

    /// Whether a server that publishes no methods of PKCE is known to check `S256`, as for
    /// `Authority.oauth2(issuer:resource:assumesPKCE:)`. `false` unless set.
    public var assumesPKCE = false

    /// The scopes of the token; `nil`, the default, for those that the resource asks for.
    public var scopes: Set<Scope>?

    /// Whether the server is asked for tokens that are bound to a key. They always are if the resource takes no others.
    /// A sign-in for which less was asked is not used. `DPoPPolicy.off` unless set.
    public var dpop = DPoPPolicy.off

    /// Whether the metadata has to be about the very address, as for
    /// ``ProtectedResource/discover(at:transport:requiresSameResource:)``. `false` unless set.
    public var requiresSameResource = false

    /// How requests are sent.
    public var transport: any HTTPTransport = CurlTransport()

    /// Changes the configuration of the application object, its browser or its logger for example. `nil` unless set.
    public var configure: (@Sendable (inout ClientConfiguration) -> Void)?

    /// Creates a sign-in; everything else has a default.
    public init(_ address: String, software: ClientSoftware, cache: any TokenCache) {
        self.address = address
        self.software = software
        self.cache = cache
    }

    /// Returns a client that calls the API. Signs in first, if there is no account yet and ``interaction`` allows it.
    ///
    /// While it calls, the client signs in again where the API demands more scopes, asking for those of before as well, or where
    /// the sign-in has ended: three times for a call at most. Processes that sign in for the same resource at the same time
    /// open one page.
    /// - Throws: `.noTokensFound` if a person is needed and ``interaction`` is ``Interaction/never``; `.userCancelled` if the
    ///   person does not agree; `.invalidArgument` if a browser of the program's own would have to ask; `.untrustedAuthority` if
    ///   the resource names another server than before: set ``issuer`` once who runs it has confirmed that; the errors of
    ///   ``ProtectedResource/discover(at:transport:requiresSameResource:)``, of `ClientRegistration.obtain` and of
    ///   `acquireTokenInteractively(_:)`; `CancellationError`.
    public func client() async throws -> AuthenticatedClient {
        if let found = try await signedIn() { return found.client() }
        if case .never = interaction {
            throw AuthenticationError(
                .noTokensFound,
                "There is no sign-in for \(WireText.clean(address).prefix(200)) with these settings yet: a person has to sign in once."
            )
        }
        // One process opens the page; the others take what it brings.
        let key = CachedResources(cache: cache, group: software.group).key(of: address)
        let turn = SharedTurn(key: key, cache: cache, duration: Self.patience)
        let found = try await turn.run(outlivingCaller: false, known: signedIn) {
            if let found = try await signedIn() { return found }
            return SignedInResource(self, try await signIn(search.run()))
        }
        guard let found else {
            throw AuthenticationError(
                .interactionTimedOut,
                "Another process has been signing in for \(address) for too long. Finish it in the browser, and try again."
            )
        }
        return found.client()
    }

    /// Longer than a person has for the question and the page.
    private static let patience = Duration.seconds(660)
}

/// An application that is signed in for a resource.
private final class SignedInResource: Sendable {
    struct SignIn: Sendable {
        let application: PublicClientApplication
        let account: Account
        /// With the scopes that the person was asked for.
        var known: KnownResource
    }

    private let settings: ResourceSignIn
    private let current: Mutex<SignIn>

    init(_ settings: ResourceSignIn, _ current: SignIn) {
        self.settings = settings
        self.current = Mutex(current)
    }

    func client() -> AuthenticatedClient {
        let current = current.withLock(\.self)
        var again: (@Sendable (AuthenticationError) async throws -> Void)?
        if case .never = settings.interaction {} else { again = { try await self.signInAgain($0) } }
        return AuthenticatedClient(
            application: current.application,
            account: current.account,
            scopes: current.known.scopes,
            timeout: .seconds(60),
            place: WebAddress(current.known.place),
            acquire: { try await self.token($0) },
            signIn: again,
            onWait: nil
        )
    }

    private func token(_ parameters: SilentParameters) async throws -> AuthenticationResult {
        let current = current.withLock(\.self)
        var parameters = parameters
        (parameters.scopes, parameters.account) = (current.known.scopes, current.account)
        do {
            return try await current.application.acquireTokenSilently(parameters)
        } catch let error as AuthenticationError
            where .clientNotRegistered ~= error.code && current.known.kind == .registered
        {
            // The record stays: a server that recovers is used.
            throw AuthenticationError(forgottenAt: current.application.configuration.authority, error)
        }
    }

    /// Signs in for what an error demands, and for all that was asked before.
    private func signInAgain(_ error: AuthenticationError) async throws {
        let before = current.withLock(\.self)
        // A demand of the resource says that it takes this server's tokens.
        if error.challenge == nil, error.claims == nil, let found = try await settings.searchAgain() {
            let after = try await settings.signIn(
                found,
                replacing: error.isOfForgottenClient ? before.known.clientID : nil
            )
            guard WireText.areSame(after.known.identifier, before.known.identifier) else {
                throw AuthenticationError(
                    .invalidArgument,
                    """
                    This client's tokens are for \(before.known.identifier), and \(settings.address) says that it is another \
                    resource. There is a sign-in for that now: make a new client.
                    """
                )
            }
            return current.withLock { $0 = after }
        }
        let parameters = error.interactiveParameters(scopes: before.known.scopes, account: before.account)
        _ = try await before.application.acquireTokenInteractively(parameters)
        let known = current.withLock { current in
            current.known.scopes = parameters.scopes
            return current.known
        }
        try await settings.search.memory.keep(known, calledAt: settings.address)
    }
}

extension ResourceSignIn {
    fileprivate var search: ResourceSearch {
        var search = ResourceSearch(address, software: software, cache: cache)
        search.transport = transport
        search.requiresSameResource = requiresSameResource
        (search.issuer, search.isNamed) = (issuer, issuer != nil)
        (search.clientID, search.scopes) = (clientID, scopes)
        (search.dpop, search.assumesPKCE) = (dpop, assumesPKCE)
        return search
    }

    /// Asks the resource whether its tokens still come from the same server; `nil` if it cannot be reached, which the sign-in
    /// tells if it lasts.
    fileprivate func searchAgain() async throws -> FoundResource? {
        do {
            return try await search.run()
        } catch let error as AuthenticationError where .network ~= error.code {
            return nil
        }
    }

    /// Returns the sign-in that is kept, if it is what the settings ask for.
    private func signedIn() async throws -> SignedInResource? {
        guard var known = try await search.memory.known(of: address), search.accepts(known),
            let registration = try await known.registration(of: software, cache: cache)
        else { return nil }
        known.assumesPKCE = known.assumesPKCE || assumesPKCE
        let application = try application(registration, known)
        guard let account = try await application.usualAccount() else { return nil }
        known.scopes.formUnion(scopes ?? [])
        known.isNamed = known.isNamed || issuer != nil
        return SignedInResource(self, SignedInResource.SignIn(application: application, account: account, known: known))
    }

    /// Asks the person, if need be, and signs in.
    ///
    /// - Parameter refused: The registered client that the server does not know any more.
    fileprivate func signIn(_ found: FoundResource, replacing refused: ClientID? = nil) async throws
        -> SignedInResource.SignIn
    {
        let browser = try await asked(about: found)
        do {
            let (registration, known) = try await found.client(replacing: refused)
            do {
                return try await signIn(found, registration, known, browser)
            } catch let error as AuthenticationError
                where .clientNotRegistered ~= error.code && known.kind == .registered
            {
                // The server has forgotten the client.
                let (registration, known) = try await found.client(replacing: known.clientID)
                return try await signIn(found, registration, known, nil)
            }
        } catch {
            browser?.end(error)
            throw error
        }
    }

    /// Asks the person.
    ///
    /// - Returns: The browser that waits for the server's page; `nil` if there is none.
    private func asked(about found: FoundResource) async throws -> AskedBrowser? {
        guard let question = found.question else { return nil }
        if case .asking(let ask) = interaction {
            guard try await ask(found.resource, found.authority) else {
                throw AuthenticationError(.userCancelled, "The sign-in at \(found.authority.url) was refused.")
            }
            return nil
        }
        // Only the browser of this configuration is used: there is no client yet.
        var configuration = ClientConfiguration(clientID: "none", authority: found.authority, cache: cache)
        configure?(&configuration)
        guard let launcher = configuration.browser as? SystemBrowserLauncher else {
            throw AuthenticationError(
                .invalidArgument,
                "A browser of the program's own cannot ask the question before the first sign-in: use .asking for the interaction."
            )
        }
        return try await launcher.ask(question)
    }

    private func signIn(
        _ found: FoundResource,
        _ registration: ClientRegistration,
        _ known: KnownResource,
        _ browser: AskedBrowser?
    ) async throws -> SignedInResource.SignIn {
        let application = try application(registration, known, browser)
        let parameters = InteractiveParameters(scopes: known.scopes, account: try await application.usualAccount())
        let result = try await application.acquireTokenInteractively(parameters)
        try await found.keep(known)
        return SignedInResource.SignIn(application: application, account: result.account, known: known)
    }

    private func application(
        _ registration: ClientRegistration,
        _ known: KnownResource,
        _ browser: AskedBrowser? = nil
    ) throws -> PublicClientApplication {
        var configuration = registration.configuration(cache: cache)
        configuration.dpop = known.dpop
        configuration.checksAudience = !known.isNamed && issuer == nil
        configuration.transport = transport
        configure?(&configuration)
        if let browser { configuration.browser = browser }
        return try PublicClientApplication(configuration)
    }
}

extension PublicClientApplication {
    /// The current account, or one of several.
    fileprivate func usualAccount() async throws -> Account? {
        let accounts = try await allAccounts()
        guard accounts.count > 1 else { return accounts.first }
        return try await currentAccount().current ?? accounts.first
    }
}
