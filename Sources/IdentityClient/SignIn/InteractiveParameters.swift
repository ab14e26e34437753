// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// The parameters of an interactive acquisition.
///
/// ```swift
/// var parameters = InteractiveParameters(scopes: ["User.Read"])
/// parameters.loginHint = "alice@contoso.example"
/// let result = try await app.acquireTokenInteractively(parameters)
/// ```
public struct InteractiveParameters: Sendable {
    /// The scopes of the requested token. `openid`, `profile` and `offline_access` are added if the kind of authority
    /// supports them.
    public var scopes: Set<Scope>

    /// More scopes for the person to agree to. The token does not include them.
    public var extraScopesToConsent: Set<Scope> = []

    /// The account to sign in again. Its username becomes the login hint, and the sign-in of another person is refused.
    public var account: Account?

    /// Another authority of the same kind and cloud, such as a tenant or a B2C policy; `nil` means the configured
    /// authority.
    public var authority: Authority?

    /// The prompt that the provider shows. By default the provider decides, except after a sign-out: then it asks, so
    /// that the browser's session does not sign the person in again without asking.
    public var prompt: SignInPrompt = .providerDefault

    /// The username to fill in on the sign-in page (`login_hint`).
    public var loginHint: String?

    /// The organization whose sign-in page is shown at once (`domain_hint`, Microsoft's).
    public var domainHint: String?

    /// A claims request or claims challenge (JSON).
    public var claims: String?

    /// The longest time since the person last authenticated, with a resolution of one second.
    public var maxAge: Duration?

    /// The requested authentication contexts, in order of preference (`acr_values`).
    public var acrValues: [String] = []

    /// Whether the sign-in fails with `.insufficientUserAuthentication` unless the ID token's `acr` is one of
    /// ``acrValues``. `false` unless set: then the provider may authenticate the person in another way, and the program
    /// or its API decides.
    public var requiresACR = false

    /// The methods of authentication that the ID token's `amr` must all name, such as `mfa`; otherwise the sign-in fails with
    /// `.insufficientUserAuthentication`. Empty unless set. No parameter asks the provider for methods: name a fitting
    /// context with ``acrValues``, or set the policy there.
    public var requiredAMR: Set<String> = []

    /// The way in which the token is shown to an API. ``AuthenticationScheme/bearer`` unless set.
    public var scheme: AuthenticationScheme = .bearer

    /// The languages of the pages, in order of preference, as BCP 47 tags (`ui_locales`).
    public var uiLocales: [String] = []

    /// Additional items of the authorization request's query. A name that the library itself uses is refused.
    public var extraQueryItems: [String: String] = [:]

    /// The requested form of the answer. `nil` means a form post, if the redirect receiver can take one and the
    /// provider is Microsoft's or publishes it; otherwise the query. If a form post is requested, an answer in the
    /// query is accepted too.
    public var responseMode: ResponseMode?

    /// The time that the person has. Five minutes unless set; above 0 and at most one day, otherwise the sign-in throws
    /// `.invalidArgument`.
    public var timeout: Duration = .seconds(300)

    /// Receives the authorization address before the browser is opened, to show or copy it.
    ///
    /// If it is set, a browser that cannot be opened does not end the sign-in, because the person can open the address.
    /// See ``requiresBrowser``.
    public var onAuthorizationURL: (@Sendable (URL) -> Void)?

    /// Whether a browser that cannot be opened always ends the sign-in. Set it if the address is not shown to the
    /// person. `false` unless set.
    public var requiresBrowser = false

    /// Whether a cache that cannot be written ends the sign-in before the person begins, with `.cache` or one of its
    /// second levels. `false` unless set.
    ///
    /// If it is `false`, the sign-in goes on, its tokens live until the program ends, and
    /// `AuthenticationResult/persistence` says so. The cache is checked in any case, so that a keyring is unlocked
    /// beforehand.
    public var requiresPersistence = false

    /// Receives the phases of the sign-in, to show how much time the person has left and to bring the program's window
    /// to the front when the person has finished. The desktop decides whether a window may come to the front.
    ///
    /// It is called for each phase in order, at most once, and never after the acquisition has ended. It may be called
    /// on any thread, and the sign-in waits for it to return. ``SignInPhase/browserUnavailable(message:)`` is reported
    /// only if no browser could be opened. With an identity broker, ``SignInPhase/waitingForPerson(until:)`` is reported
    /// again if the browser has to take over. A sign-in that ends early, or is completed with
    /// ``PublicClientApplication/completeAuthorization(_:with:)``, skips phases.
    public var onProgress: (@Sendable (SignInPhase) -> Void)?

    /// The policy for an earlier sign-in of the same application object that is still under way.
    ///
    /// ``PendingPolicy/wait`` unless set.
    public var whenPending: PendingPolicy = .wait

    /// The identifier of the request in the provider's logs; `nil` means a new identifier.
    public var correlationID: UUID?

    /// Creates parameters that request `scopes`; everything else has a default.
    ///
    /// - Parameters:
    ///   - scopes: The scopes that the token shall have.
    ///   - account: The account that signs in again, if any.
    public init(scopes: Set<Scope>, account: Account? = nil) {
        self.scopes = scopes
        self.account = account
    }

    /// The policy for a sign-in that is still under way when another begins.
    ///
    /// ```swift
    /// parameters.whenPending = .supersede
    /// ```
    @nonexhaustive public enum PendingPolicy: Hashable, Sendable {
        /// The new sign-in waits until the earlier sign-in has ended.
        case wait
        /// The new sign-in fails with `.interactionInProgress`.
        case fail
        /// The earlier sign-in fails with `.interactionSuperseded`.
        case supersede
    }

    var requiredAuthentication: RequiredAuthentication {
        RequiredAuthentication(acrValues: requiresACR ? acrValues : nil, amr: requiredAMR)
    }

    /// - Throws: `.invalidArgument` if the required authentication names no `acr`, or if the authority cannot tell how the
    ///   person authenticated.
    func checkRequiredAuthentication(at authority: Authority) throws {
        let namesNoACR = requiresACR && acrValues.isEmpty
        let isUnknowable = !requiredAuthentication.isEmpty && !authority.issuesIDTokens
        if namesNoACR || isUnknowable {
            throw AuthenticationError(
                .invalidArgument,
                """
                A required acr needs acrValues, and a required acr or amr a provider with ID tokens: a plain OAuth 2.0 server \
                does not say how the person authenticated.
                """
            )
        }
    }
}

extension AuthenticationError {
    /// Returns the parameters of a sign-in that answers this error: with its ``claims``, and its ``challenge``'s scopes,
    /// authentication contexts and maximum age.
    ///
    /// ```swift
    /// } catch let error as AuthenticationError where error.family == .interactionRequired {
    ///     let parameters = error.interactiveParameters(scopes: api.scopes, account: api.account)
    ///     _ = try await app.acquireTokenInteractively(parameters)
    /// }
    /// ```
    ///
    /// If an API demands another authentication without saying which, the person signs in again (`prompt=login`).
    public func interactiveParameters(scopes: Set<Scope>, account: Account? = nil) -> InteractiveParameters {
        var parameters = InteractiveParameters(scopes: scopes.union(challenge?.scopes ?? []), account: account)
        parameters.claims = claims
        parameters.acrValues = challenge?.acrValues ?? []
        parameters.maxAge = challenge?.maxAge
        let isVague = parameters.acrValues.isEmpty && parameters.maxAge == nil
        if code == .insufficientUserAuthentication, isVague { parameters.prompt = .login }
        return parameters
    }
}

/// A prompt: what the provider asks the person.
///
/// ```swift
/// parameters.prompt = .selectAccount
/// ```
///
/// - SeeAlso: [OpenID Connect Core §3.1.2.1](https://openid.net/specs/openid-connect-core-1_0.html#AuthRequest)
public struct SignInPrompt: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral {
    /// The value of `prompt`.
    public let rawValue: String

    /// Wraps a value, possibly several separated by spaces.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Wraps a value, possibly several separated by spaces.
    public init(stringLiteral value: String) { rawValue = value }

    /// The provider's choice: no `prompt` is sent, except after a sign-out.
    public static let providerDefault: SignInPrompt = ""
    /// No prompt: the sign-in fails with `.loginRequired` or a similar code if the provider would have to ask.
    public static let none: SignInPrompt = "none"
    /// The person signs in again.
    public static let login: SignInPrompt = "login"
    /// The person agrees to the scopes again. Some providers give a refresh token (`offline_access`) only after this
    /// prompt, without saying so; otherwise, a sign-in there lasts as long as its access token.
    ///
    /// - SeeAlso: [OpenID Connect Core §11](https://openid.net/specs/openid-connect-core-1_0.html#OfflineAccess)
    public static let consent: SignInPrompt = "consent"
    /// The person chooses an account.
    public static let selectAccount: SignInPrompt = "select_account"
    /// The person creates an account.
    public static let create: SignInPrompt = "create"
}
