// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
import OAuthWire
import Synchronization

/// A prepared sign-in: the address to show, and the values that verify the answer.
///
/// It lives in memory and accepts one answer. ``serialized()`` keeps it for another process.
///
/// ```swift
/// let request = try await app.prepareAuthorization(InteractiveParameters(scopes: scopes))
/// show(request.url)
/// let result = try await app.completeAuthorization(request, with: pastedURL)
/// ```
public final class AuthorizationRequest: Sendable {
    /// The address to show to the person. It contains no secret: with the address alone, a person can only finish this
    /// sign-in.
    public let url: URL

    /// The time until which the address can be opened, if the request was pushed (RFC 9126): often one minute after its
    /// preparation, and once only. `nil` if the address contains the whole request and does not expire.
    public let expiresOn: Date?

    /// The address to which the provider will redirect the browser, exactly as it was sent.
    public let redirectURI: URL

    /// The identifier of the request on both sides.
    public let correlationID: UUID

    /// The end of the person's time, which counts for a request that is kept.
    package let validUntil: Date
    let clientID: String
    let parameters: InteractiveParameters
    /// The sign-in, which the application object that gets the answer goes on with.
    let signIn: SignIn
    package let state: String
    let nonce: String?
    let maxAge: Int?
    let proofKey: ProofKey
    /// Whether the answer is expected as a posted form.
    let comesByForm: Bool
    private let isSpent = Mutex(false)

    init(
        url: URL,
        redirectURI: URL,
        expiresOn: Date?,
        validUntil: Date,
        message: AuthorizationRequestMessage,
        parameters: InteractiveParameters,
        signIn: SignIn,
        proofKey: ProofKey
    ) {
        self.url = url
        self.redirectURI = redirectURI
        self.expiresOn = expiresOn
        self.validUntil = validUntil
        clientID = message.clientID
        self.parameters = parameters
        self.signIn = signIn
        self.proofKey = proofKey
        correlationID = signIn.context.correlationID
        state = message.state
        nonce = message.nonce
        maxAge = message.maxAge
        comesByForm = message.responseMode == ResponseMode.formPost.rawValue
    }

    /// Returns whether a redirect's `state` is this request's `state`, given exactly once. Compares in constant time.
    func isAnswered(byStates states: [String]) -> Bool {
        states.count == 1 && constantTimeEquals(states[0], state)
    }

    /// Whether an answer was accepted.
    var hasEnded: Bool { isSpent.withLock(\.self) }

    /// Marks the request as answered.
    ///
    /// - Throws: `.invalidArgument` when the request was already answered.
    func markAnswered() throws {
        let wasSpent = isSpent.withLock { isSpent in
            defer { isSpent = true }
            return isSpent
        }
        guard !wasSpent else {
            throw AuthenticationError(
                .invalidArgument,
                "This authorization request was already answered: prepare a new one.",
                correlationID: correlationID
            )
        }
    }
}

extension AuthorizationRequest: CustomStringConvertible, CustomReflectable {
    /// The correlation identifier alone.
    public var description: String { "AuthorizationRequest(\(correlationID.uuidString.lowercased()))" }

    /// A mirror without secrets, so that `dump` reveals none.
    public var customMirror: Mirror { Mirror(self, children: ["correlationID": correlationID]) }
}

extension AuthorizationRequest {
    /// Returns the request as data, so that another process, or this program after a restart, can finish the sign-in.
    ///
    /// The data is a secret: with it and the address at which the browser ends, anyone can finish the sign-in. Keep it where
    /// only the program can read and write it, in a file with mode 0600 for example, and remove it when the sign-in has
    /// ended. It is valid for ``InteractiveParameters/timeout`` after the preparation, and only for the same client and
    /// authority. Only this version of the library is sure to read it.
    ///
    /// ```swift
    /// let data = try request.serialized()
    /// // Later, in another process:
    /// let restored = try await app.restoreAuthorization(data)
    /// let result = try await app.completeAuthorization(restored, with: redirect)
    /// ```
    /// - Throws: `.invalidArgument` when the request was answered, or its time-out is not above 0 and at most a day.
    public func serialized() throws -> [UInt8] {
        guard !hasEnded, parameters.timeout > .zero, parameters.timeout <= .seconds(86_400) else {
            throw AuthenticationError(
                .invalidArgument,
                """
                Only a request that was not yet answered, with a time-out above 0 and at most a day, can be kept. Prepare a new one.
                """,
                correlationID: correlationID
            )
        }
        var data = JSONObject([
            ("version", .integer(AuthorizationRestoration.version)),
            ("clientID", .string(clientID)),
            ("authority", .string(signIn.authority.fullName)),
            ("validUntil", .integer(validUntil.unixSeconds)),
            ("url", .string(url.absoluteString)),
            ("redirectURI", .string(redirectURI.absoluteString)),
            ("correlationID", .string(correlationID.uuidString)),
            ("state", .string(state)),
            ("codeVerifier", .string(proofKey.verifier)),
            ("isAnsweredByForm", .bool(comesByForm)),
            ("requestedScopes", .strings(signIn.asked)),
            ("scopes", .strings(parameters.scopes.map(\.rawValue).sorted())),
            ("acrValues", .strings(parameters.acrValues)),
            ("requiresACR", .bool(parameters.requiresACR)),
            ("requiredAMR", .strings(parameters.requiredAMR.sorted())),
            ("requiresPersistence", .bool(parameters.requiresPersistence)),
        ])
        data["issuer"] = signIn.metadata.issuer.map { .string($0) }
        data["urlExpiresOn"] = expiresOn.map { .integer($0.unixSeconds) }
        data["nonce"] = nonce.map { .string($0) }
        data["maxAge"] = maxAge.map { .integer($0) }
        data["claims"] = signIn.claims.map { .string($0) }
        data["proofKeyID"] = signIn.proof?.key.map { .string($0.keyID) }
        data["dpopKey"] = signIn.proof?.dpop.map { .string($0.secret) }
        data["sshKey"] = signIn.proof?.binding.scheme.sshKey.map { .string(SSHPublicKey($0).description) }
        data["account"] = parameters.account.map { account in
            var object = JSONObject([
                ("id", .string(account.id.rawValue)),
                ("environment", .string(account.environment)),
                ("homeAccountID", .string(account.homeAccountID)),
            ])
            object["username"] = account.username.map { .string($0) }
            return .object(object)
        }
        return data.serialized()
    }
}

extension Date {
    fileprivate var unixSeconds: Int64 { Int64(timeIntervalSince1970.rounded(.down)) }
}
