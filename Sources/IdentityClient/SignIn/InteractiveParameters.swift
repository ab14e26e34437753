// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials

/// What an interactive acquisition asks for, and how.
///
/// ```swift
/// var parameters = InteractiveParameters(scopes: ["User.Read"])
/// parameters.loginHint = "alice@contoso.example"
/// let result = try await app.acquireTokenInteractively(parameters)
/// ```
public struct InteractiveParameters: Sendable {
    /// The scopes the token shall have. `openid`, `profile` and `offline_access` are added where the kind of authority
    /// has them.
    public var scopes: Set<Scope>

    /// Scopes the person is asked to agree to as well; the token is not for them.
    public var extraScopesToConsent: Set<Scope> = []

    /// The account that is to sign in again: its username becomes the login hint, and another person is refused.
    public var account: Account?

    /// Another authority of the same kind and cloud: a tenant, a B2C policy; `nil` means the configured one.
    public var authority: Authority?

    /// What the provider shall ask. Where nothing is said, it asks after a sign-out, so that the browser's session does not
    /// sign the person in again unasked.
    public var prompt: Prompt = .providerDefault

    /// What to fill in as the person's name (`login_hint`).
    public var loginHint: String?

    /// Which organisation's sign-in page to go to at once (`domain_hint`, Microsoft's).
    public var domainHint: String?

    /// A claims request or challenge (JSON).
    public var claims: String?

    /// How long ago the person may have authenticated at most; a resolution of one second.
    public var maxAge: Duration?

    /// The authentication contexts asked for, the most wanted first (`acr_values`).
    public var acrValues: [String] = []

    /// The languages of the pages, the most wanted first, as BCP 47 tags (`ui_locales`).
    public var uiLocales: [String] = []

    /// More items for the authorization request's query. A name that the library itself uses is refused.
    public var extraQueryItems: [String: String] = [:]

    /// How the answer is asked for; `nil` means a form post at Microsoft's providers and where it is published, if the
    /// redirect receiver can take one, else the query. Where a form is asked for, an answer in the query is taken too.
    public var responseMode: ResponseMode?

    /// How long the person has. Five minutes unless set; above 0 and at most a day, else the sign-in throws
    /// `.invalidArgument`.
    public var timeout: Duration = .seconds(300)

    /// Is told the authorization address before the browser is opened, to show or copy it.
    ///
    /// Where it is set, a browser that cannot be opened does not end the sign-in: the person can open the address. See
    /// ``requiresBrowser``.
    public var onAuthorizationURL: (@Sendable (URL) -> Void)?

    /// Whether a browser that cannot be opened ends the sign-in in any case: nobody reads the address.
    /// `false` unless set.
    public var requiresBrowser = false

    /// Whether a cache that cannot be written ends the sign-in before the person begins: with its error, `.cache` or a second
    /// level of it.
    ///
    /// Unless it is set, the sign-in goes on, its tokens live until the program ends, and
    /// `AuthenticationResult/persistence` says so. The cache is asked in any case, so that a keyring is unlocked beforehand.
    public var requiresPersistence = false

    /// Is told whose turn it is: to show how long the person has left, and to bring the program's window to the front
    /// when they are done. Whether a window may come to the front is the desktop's decision.
    ///
    /// It is called for each phase in order, at most once, and never after the acquisition has ended; on no particular
    /// thread, and the sign-in waits for it to return. ``SignInPhase/browserUnavailable(message:)`` is one of them only where it
    /// happens. A sign-in that ends early, or is completed with
    /// ``PublicClientApplication/completeAuthorization(_:with:)``, leaves phases out.
    public var onProgress: (@Sendable (SignInPhase) -> Void)?

    /// What becomes of a sign-in of the same application object that is still under way.
    ///
    /// ``PendingPolicy/wait`` unless set.
    public var whenPending: PendingPolicy = .wait

    /// Names the request in the provider's logs; `nil` means a fresh one.
    public var correlationID: UUID?

    /// Asks for `scopes`; everything else has a default.
    public init(scopes: Set<Scope>) {
        self.scopes = scopes
    }

    /// What becomes of a sign-in that is still under way when another begins.
    public enum PendingPolicy: Hashable, Sendable {
        /// The new one waits until the old one has ended.
        case wait
        /// The new one fails with `.interactionInProgress`.
        case fail
        /// The old one fails with `.interactionSuperseded`.
        case supersede
    }
}

/// What the provider shall ask the person.
///
/// ```swift
/// parameters.prompt = .selectAccount
/// ```
///
/// - SeeAlso: [OpenID Connect Core §3.1.2.1](https://openid.net/specs/openid-connect-core-1_0.html#AuthRequest)
public struct Prompt: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral {
    /// The value of `prompt`.
    public let rawValue: String

    /// Wraps a value, possibly several separated by spaces.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Wraps a value, possibly several separated by spaces.
    public init(stringLiteral value: String) { rawValue = value }

    /// What the provider thinks right: no `prompt` is sent, but after a sign-out.
    public static let providerDefault: Prompt = ""
    /// Nothing: fail with `.loginRequired` or the like where something would have to be asked.
    public static let none: Prompt = "none"
    /// To sign in again.
    public static let login: Prompt = "login"
    /// To agree to the scopes again. Some providers give a refresh token (`offline_access`) only to who is asked this, and
    /// say nothing else; a sign-in there lasts as long as its access token otherwise.
    ///
    /// - SeeAlso: [OpenID Connect Core §11](https://openid.net/specs/openid-connect-core-1_0.html#OfflineAccess)
    public static let consent: Prompt = "consent"
    /// Which account to use.
    public static let selectAccount: Prompt = "select_account"
    /// To create an account.
    public static let create: Prompt = "create"
}
