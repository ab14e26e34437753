// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
public import IdentityClient
import OAuthWire
import Synchronization

/// A sign-in for an API whose address is all that the program knows.
///
/// The first sign-in finds the server that issues the tokens (RFC 9728 and 8414), gets a client there (RFC 7591), and opens
/// the browser, whose first page asks whether the person wants that. All of it is kept in the cache: later the token comes
/// from there, for all processes, without a request to the API or the server.
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
    public enum Interaction: Sendable {
        /// Never: where a person is needed, the call throws `.interactionRequired`.
        case never
        /// The person, on a page of the system's browser, which asks before the first sign-in at a server.
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

    /// The client that was registered by hand at the server. `nil`, the default, if the program registers itself.
    public var clientID: ClientID?

    /// The issuer that the program trusts. With one, there is no question before the first sign-in. `nil`, the default, for the one
    /// that the resource names.
    public var issuer: String?

    /// Whether a server that publishes no methods of PKCE is known to check `S256`, as for
    /// `Authority.oauth2(issuer:resource:assumesPKCE:)`. `false` unless set.
    public var assumesPKCE = false

    /// The scopes of the token; `nil`, the default, for those that the resource asks for.
    public var scopes: Set<Scope>?

    /// Whether the server is asked for tokens that are bound to a key. They always are if the resource takes no others.
    /// `DPoPPolicy.off` unless set.
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
    ///   person does not agree; `.untrustedAuthority` if the resource names another server than before: set ``issuer`` once
    ///   who runs it has confirmed that; the errors of ``ProtectedResource/discover(at:transport:requiresSameResource:)``, of
    ///   `ClientRegistration.obtain` and of `acquireTokenInteractively(_:)`; `CancellationError`.
    public func client() async throws -> AuthenticatedClient {
        if let found = try await signedIn() { return found.client(for: self) }
        if case .never = interaction {
            throw AuthenticationError(
                .noTokensFound,
                "There is no sign-in for \(WireText.clean(address).prefix(200)) yet: a person has to sign in once."
            )
        }
        // One process opens the page; the others take what it brings.
        let turn = SharedTurn(key: key(of: address), cache: cache, duration: Self.patience)
        let found = try await turn.run(outlivingCaller: false, known: signedIn) {
            if let found = try await signedIn() { return found }
            return try await signIn()
        }
        guard let found else {
            throw AuthenticationError(
                .interactionTimedOut,
                "Another process has been signing in for \(address) for too long. Finish it in the browser, and try again."
            )
        }
        return found.client(for: self)
    }

    /// Longer than a person has for the page.
    private static let patience = Duration.seconds(360)
}

/// The cache's record of a resource, in place of another search for the server.
private struct KnownResource: Sendable {
    enum ClientKind: String {
        case given, document, registered
    }

    var identifier: String
    var issuer: String
    var scopes: Set<Scope>
    var clientID: ClientID
    var kind: ClientKind
    var dpop: DPoPPolicy
}

extension KnownResource {
    /// - Returns: `nil` for a damaged record.
    fileprivate init?(_ record: CacheRecord) {
        guard let json = try? JSONObject(parsing: record.bytes), json.integer("v") == 1,
            let resource = json.string("resource"), WebAddress(resource) != nil, let issuer = json.string("issuer"),
            let scopes = json.strings("scopes"), let clientID = json.string("client_id"),
            let kind = json.string("client").flatMap(ClientKind.init)
        else { return nil }
        self.init(
            identifier: resource,
            issuer: issuer,
            scopes: Set(scopes.map(Scope.init(rawValue:))),
            clientID: ClientID(rawValue: clientID),
            kind: kind,
            dpop: json.string("dpop").flatMap(DPoPPolicy.init) ?? .off
        )
    }

    fileprivate var record: CacheRecord {
        let json = JSONObject([
            ("v", .integer(1)), ("resource", .string(identifier)), ("issuer", .string(issuer)),
            ("scopes", .strings(scopes.map(\.rawValue).sorted())), ("client_id", .string(clientID.rawValue)),
            ("client", .string(kind.rawValue)), ("dpop", .string(dpop.rawValue)),
        ])
        return CacheRecord(bytes: json.serialized())
    }
}

/// An application that is signed in for a resource.
private final class SignedInResource: Sendable {
    let application: PublicClientApplication
    let account: Account
    /// With the scopes that the person was asked for.
    let known: Mutex<KnownResource>

    init(_ application: PublicClientApplication, _ account: Account, _ known: KnownResource) {
        self.application = application
        self.account = account
        self.known = Mutex(known)
    }

    func client(for signIn: ResourceSignIn) -> AuthenticatedClient {
        let known = known.withLock(\.self)
        var again: (@Sendable (AuthenticationError) async throws -> Void)?
        if case .never = signIn.interaction {} else { again = { try await self.signInAgain($0, signIn) } }
        return AuthenticatedClient(
            application: application,
            account: account,
            scopes: known.scopes,
            timeout: .seconds(60),
            place: WebAddress(known.identifier),
            acquire: { try await self.token($0) },
            signIn: again,
            onWait: nil
        )
    }

    private func token(_ parameters: SilentParameters) async throws -> AuthenticationResult {
        var parameters = parameters
        parameters.scopes = known.withLock(\.scopes)
        return try await application.acquireTokenSilently(parameters)
    }

    /// Signs in for what an error demands, and for all that was asked before.
    private func signInAgain(_ error: AuthenticationError, _ signIn: ResourceSignIn) async throws {
        // A demand of the resource says that it takes this server's tokens.
        if error.challenge == nil, error.claims == nil { try await signIn.checkIssuer(of: known.withLock(\.self)) }
        let scopes = known.withLock(\.scopes)
        let parameters = InteractiveParameters(scopes: scopes, account: account, meeting: error)
        _ = try await application.acquireTokenInteractively(parameters)
        let changed = known.withLock { known in
            known.scopes = parameters.scopes
            return known
        }
        try await signIn.remember(changed)
    }
}

extension ResourceSignIn {
    private var group: CacheGroup { software.group }

    private func key(of address: String) -> CacheKey {
        CacheKey(group: group, kind: .application, name: Digest.hexadecimal(of: ["resource", address]))
    }

    /// The record of the address, or of the nearest one above it that reaches it.
    private func known() async throws -> KnownResource? {
        guard let wanted = WebAddress(address) else { return nil }
        for text in [address] + wanted.ancestors {
            guard let record = try await cache.record(for: key(of: text)), let known = KnownResource(record) else {
                continue
            }
            if WireText.areSame(text, address) || WebAddress(known.identifier)?.isAbove(wanted) == true { return known }
        }
        return nil
    }

    fileprivate func remember(_ known: KnownResource) async throws {
        for text in WireText.areSame(known.identifier, address) ? [address] : [address, known.identifier] {
            _ = try await cache.replace(cache.record(for: key(of: text)), with: known.record, for: key(of: text))
        }
    }

    /// The client of a resource that is known.
    private func configuration(of known: KnownResource) async throws -> ClientConfiguration? {
        let authority = try Authority.oauth2(
            issuer: known.issuer,
            resource: known.identifier,
            assumesPKCE: assumesPKCE
        )
        switch known.kind {
        case .given: return try configuration(clientID ?? known.clientID, authority)
        case .document:
            return try ClientRegistration(document: known.clientID, of: software, at: authority).configuration(
                cache: cache
            )
        case .registered:
            return try await ClientRegistration.kept(of: software, at: authority, cache: cache)?.configuration(
                cache: cache
            )
        }
    }

    private func configuration(_ clientID: ClientID, _ authority: Authority) throws -> ClientConfiguration {
        var configuration = ClientConfiguration(clientID: clientID, authority: authority, cache: cache)
        configuration.cacheGroup = group
        configuration.redirectURI = try software.redirectURI()
        return configuration
    }

    private func application(
        _ configuration: ClientConfiguration,
        _ dpop: DPoPPolicy
    ) throws -> PublicClientApplication {
        var configuration = configuration
        configuration.transport = transport
        configuration.redirectReceiver = WaitingRedirectReceiver()
        configure?(&configuration)
        configuration.dpop = dpop
        return try PublicClientApplication(configuration)
    }

    /// Asks the resource whether its tokens still come from the same server.
    fileprivate func checkIssuer(of known: KnownResource) async throws {
        do {
            let resource = try await ProtectedResource.discover(
                at: address,
                transport: transport,
                requiresSameResource: requiresSameResource
            )
            _ = try resource.authority(issuer: known.issuer)
        } catch let error as AuthenticationError where .network ~= error.code {}  // the sign-in tells it, if it lasts
    }

    private func signedIn() async throws -> SignedInResource? {
        guard var known = try await known(), let configuration = try await configuration(of: known) else { return nil }
        let application = try application(configuration, known.dpop)
        guard let account = try await application.usualAccount() else { return nil }
        known.scopes.formUnion(scopes ?? [])
        return SignedInResource(application, account, known)
    }

    /// Signs in, after a search for the server.
    private func signIn() async throws -> SignedInResource {
        let earlier = try await known()
        let resource = try await ProtectedResource.discover(
            at: address,
            transport: transport,
            requiresSameResource: requiresSameResource
        )
        let authority = try resource.authority(issuer: issuer ?? earlier?.issuer, assumesPKCE: assumesPKCE)
        var question: BrowserQuestion?
        if issuer == nil, clientID == nil, earlier == nil {
            switch interaction {
            case .never: break
            case .browser: question = BrowserQuestion(for: resource, at: authority, of: software.name)
            case .asking(let ask):
                guard try await ask(resource, authority) else {
                    throw AuthenticationError(.userCancelled, "The sign-in at \(authority.url) was refused.")
                }
            }
        }
        let scopes = scopes ?? resource.scopes.union(earlier?.scopes ?? [])
        let (first, known) = try await configuration(for: resource, at: authority, scopes)
        do {
            return try await signIn(first, known, question)
        } catch let error as AuthenticationError
            where .clientNotRegistered ~= error.code && known.kind == .registered
        {
            // The server has forgotten the client.
            let (second, known) = try await configuration(
                for: resource,
                at: authority,
                scopes,
                replacing: known.clientID
            )
            return try await signIn(second, known, question)
        }
    }

    /// Returns the configuration of the given client, or of one that is registered if need be.
    private func configuration(
        for resource: ProtectedResource,
        at authority: Authority,
        _ scopes: Set<Scope>,
        replacing refused: ClientID? = nil
    ) async throws -> (ClientConfiguration, KnownResource) {
        func known(_ clientID: ClientID, _ kind: KnownResource.ClientKind) -> KnownResource {
            KnownResource(
                identifier: resource.identifier,
                issuer: authority.url,
                scopes: scopes,
                clientID: clientID,
                kind: kind,
                dpop: resource.requiresDPoP ? .required : dpop
            )
        }
        if let clientID { return (try configuration(clientID, authority), known(clientID, .given)) }
        let registration = try await ClientRegistration.obtain(
            of: software,
            at: authority,
            cache: cache,
            transport: transport,
            replacing: refused
        )
        let isDocument = software.metadataDocument == registration.clientID.rawValue
        return (
            registration.configuration(cache: cache), known(registration.clientID, isDocument ? .document : .registered)
        )
    }

    private func signIn(
        _ configuration: ClientConfiguration,
        _ known: KnownResource,
        _ question: BrowserQuestion?
    ) async throws -> SignedInResource {
        var configuration = configuration
        if let question {
            var browser = SystemBrowserLauncher()
            browser.question = question
            configuration.browser = browser
        }
        let application = try application(configuration, known.dpop)
        let parameters = InteractiveParameters(scopes: known.scopes, account: try await application.usualAccount())
        let result = try await application.acquireTokenInteractively(parameters)
        try await remember(known)
        return SignedInResource(application, result.account, known)
    }
}

extension BrowserQuestion {
    /// The question before the first sign-in at a server that is not configured.
    ///
    /// ```swift
    /// launcher.question = BrowserQuestion(for: resource, at: authority, of: "Example Notes")
    /// ```
    /// - Parameters:
    ///   - resource: The resource for which the person signs in.
    ///   - authority: The server that the resource names.
    ///   - program: The name of the program that will call the resource.
    public init(for resource: ProtectedResource, at authority: Authority, of program: String) {
        let name = resource.name.map { " The server there calls itself “\($0)”." } ?? ""
        self.init(
            title: "Sign in for \(WebAddress(resource.identifier)?.environment ?? resource.identifier)?",
            sentences: [
                "\(program) is about to call \(resource.identifier) in your name.\(name)",
                "For that, it opens the sign-in page of \(authority.url), which is not configured on this computer.",
                "Go on only if you know both addresses.",
            ]
        )
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

extension WebAddress {
    /// The addresses above this one, the nearest first, as a resource may spell them: with and without a slash at the end.
    package var ancestors: [String] {
        var found: [String] = []
        var segments = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        if query != nil { found.append(origin + path) }
        while let last = segments.popLast() {
            let above = origin + segments.map { "/" + $0 }.joined()
            if !last.isEmpty { found.append(above + "/") }
            found.append(above)
        }
        return Array(found.prefix(40))
    }
}
