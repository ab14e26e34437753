// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import FoundationEssentials
import Logging
import OAuthWire

/// The flow that shows a code for another device, and polls for tokens until the person has finished there.
/// - SeeAlso: [RFC 8628](https://www.rfc-editor.org/rfc/rfc8628)
struct DeviceAuthorizationFlow: Sendable {
    let environment: FlowEnvironment
    let context: RequestContext
    let parameters: DeviceCodeParameters

    func run(prompt: (DeviceCodePrompt) async -> Void) async throws -> AuthenticationResult {
        if let timeout = parameters.timeout, timeout <= .zero {
            throw AuthenticationError(.invalidArgument, "The sign-in's time-out must be above 0.")
        }
        let signIn = try await SignIn(
            environment,
            context,
            at: parameters.authority,
            for: parameters.account,
            scopes: parameters.scopes,
            claims: parameters.claims,
            key: .new(parameters.scheme),
            requiresPersistence: parameters.requiresPersistence
        )
        let request = DeviceCodeRequest(
            signIn: signIn,
            extraParameters: environment.itemsOfSignIn(parameters.extraParameters)
        )
        let (device, proofKey) = try await request.requestCode()
        let lifetime = min(parameters.timeout ?? .seconds(device.expiresIn), .seconds(min(device.expiresIn, 86_400)))
        let deadline = Deadline(after: lifetime)
        let expiresOn = environment.clock.now.addingTimeInterval(Double(lifetime.components.seconds))
        await prompt(try request.prompt(device, expiresOn: expiresOn))

        let form = TokenRequestMessage.deviceCode(
            clientID: environment.clientID,
            deviceCode: device.deviceCode,
            codeVerifier: proofKey?.verifier,
            scopes: signIn.repeated.scopes,
            claims: signIn.repeated.claims,
            clientInfo: signIn.authority.hasHomeAccounts
        )
        let response = try await poll(
            signIn.endpoint,
            form,
            polling: DevicePolling(interval: device.interval),
            until: deadline
        )
        let metadata = signIn.metadata
        let endpoints = [
            "authorization \(metadata.authorizationEndpoint)", "token \(metadata.tokenEndpoint)",
            metadata.deviceAuthorizationEndpoint.map { "device authorization \($0)" },
        ].compactMap(\.self).joined(separator: ", ")
        return try await signIn.finish(
            response,
            withoutIDToken: """
                The provider issues no ID token for a sign-in on another device, so it does not say who signed in. Sign in \
                with a browser, or name the provider by its endpoints, as a plain OAuth 2.0 server, which is not asked for \
                openid: \(endpoints).
                """
        )
    }

    /// Polls until an answer ends the sign-in or the code expires.
    ///
    /// - SeeAlso: [RFC 8628 §3.4 and §3.5](https://www.rfc-editor.org/rfc/rfc8628#section-3.4)
    private func poll(
        _ endpoint: TokenEndpoint,
        _ form: [(String, String)],
        polling: DevicePolling,
        until deadline: Deadline
    ) async throws -> TokenResponse {
        var (polling, deadline) = (polling, deadline)
        while true {
            guard deadline.remaining > polling.wait else {
                // Another poll before the end would be too early, and a poll after it too late.
                try await environment.clock.sleep(for: deadline.remaining)
                throw context.error(
                    .interactionTimedOut,
                    "The time was over before the sign-in was finished. Start again for a new code."
                )
            }
            try await environment.clock.sleep(for: polling.wait)
            deadline.waited += polling.wait
            let answer: EndpointOutcome<TokenResponse>
            do {
                answer = try await endpoint.send(form, grant: .deviceCode)
            } catch let error as AuthenticationError where .network ~= error.code && error.mayPass {
                answer = .ambiguous(error)
            }
            if case .accepted(let response) = answer { return response }
            try polling.note(answer)
        }
    }
}

extension DeviceAuthorizationFlow {
    /// The time at which the code expires, measured by elapsed time, because the wall clock may be set meanwhile.
    fileprivate struct Deadline {
        /// The time slept so far. It is counted because a test's clock takes no real time to sleep.
        var waited: Duration = .zero
        private let lifetime: Duration
        private let begin = ContinuousClock.now

        init(after lifetime: Duration) {
            self.lifetime = lifetime
        }

        var remaining: Duration {
            max(.zero, lifetime - max(waited, .now - begin))
        }
    }
}

extension AuthenticationError {
    /// Returns whether the network may work again in a moment.
    fileprivate var mayPass: Bool {
        ![.tlsFailed, .transportUnavailable].contains(code)
    }
}

/// The wait before the next poll for the end of the person's sign-in: a pure decision.
///
/// - SeeAlso: [RFC 8628 §3.5](https://www.rfc-editor.org/rfc/rfc8628#section-3.5)
struct DevicePolling: Hashable, Sendable {
    /// The interval that the server demands. It only grows.
    private(set) var interval: Duration
    private var failures = 0
    private var retryAfter = Duration.zero

    private static let maximumBackOff = Duration.seconds(60)

    init(interval seconds: Int) {
        interval = .seconds(seconds)
    }

    /// The wait before the next poll.
    var wait: Duration {
        var wait = interval
        for _ in 0..<min(failures, 10) { wait = min(wait * 2, max(interval, Self.maximumBackOff)) }
        return max(wait, retryAfter)
    }

    /// Takes an answer into account. Throws if the answer ends the wait.
    mutating func note(_ answer: EndpointOutcome<TokenResponse>) throws {
        switch answer {
        case .accepted:
            return
        case .refused(let error) where error.serverError?.error == "authorization_pending":
            answered()
        case .refused(let error) where error.serverError?.error == "slow_down":
            answered()
            interval += .seconds(5)
        case .refused(let error) where .serverUnavailable ~= error.code, .ambiguous(let error):
            // It is unknown whether the server acted; it is polled less often until it answers.
            failures += 1
            retryAfter = error.retryAfter ?? .zero
        case .refused(let error):
            throw error
        }
    }

    private mutating func answered() {
        failures = 0
        retryAfter = .zero
    }
}

/// The parameters of a sign-in on another device.
///
/// ```swift
/// let parameters = DeviceCodeParameters(scopes: ["email"])
/// let result = try await app.acquireTokenWithDeviceCode(parameters) { prompt in
///     print("Open \(prompt.verificationURI) and enter \(prompt.userCode)")
/// }
/// ```
public struct DeviceCodeParameters: Sendable {
    /// The scopes of the requested token. `openid`, `profile` and `offline_access` are added if the kind of authority
    /// supports them.
    public var scopes: Set<Scope>

    /// The account to sign in again. The sign-in of another person is refused.
    public var account: Account?

    /// Another authority of the same kind and cloud, such as another tenant; `nil` means the configured authority.
    public var authority: Authority?

    /// A claims request or claims challenge (JSON).
    public var claims: String?

    /// The way in which the token is shown to an API. ``AuthenticationScheme/bearer`` unless set.
    public var scheme: AuthenticationScheme = .bearer

    /// Additional parameters of the request for a code. A name that the library itself uses is refused.
    public var extraParameters: [String: String] = [:]

    /// The most time that the person has; `nil` means the provider's limit, usually 15 minutes.
    public var timeout: Duration?

    /// Whether a cache that cannot be written ends the sign-in before the person begins, with `.cache` or one of its
    /// second levels. `false` unless set.
    ///
    /// If it is `false`, the sign-in goes on, its tokens live until the program ends, and
    /// `AuthenticationResult/persistence` says so. The cache is checked in any case, so that a keyring is unlocked
    /// beforehand.
    public var requiresPersistence = false

    /// The identifier of the requests in the provider's logs; `nil` means a new identifier.
    public var correlationID: UUID?

    /// Creates parameters that request `scopes`; everything else has a default.
    public init(scopes: Set<Scope>, account: Account? = nil) {
        (self.scopes, self.account) = (scopes, account)
    }
}

/// The instructions to show to a person who signs in on another device.
///
/// ```swift
/// print("Open \(prompt.verificationURI) and enter \(prompt.userCode)")
/// ```
public struct DeviceCodePrompt: Hashable, Sendable {
    /// The code that the person types there.
    public let userCode: String

    /// The address at which the person types the code: an `https` address, short enough to type. It may have a fragment
    /// (`#/device`).
    public let verificationURI: URL

    /// The same address with the code in it, for a QR code or a link; `nil` if the provider gives none, as Entra ID
    /// does not.
    public let verificationURIComplete: URL?

    /// One line of instructions: the provider's text, otherwise an English text.
    public let message: String

    /// The time at which the code expires, by this computer's clock.
    public let expiresOn: Date

    /// Creates a prompt, for a program's tests.
    public init(
        userCode: String,
        verificationURI: URL,
        verificationURIComplete: URL? = nil,
        message: String? = nil,
        expiresOn: Date
    ) {
        self.userCode = userCode
        self.verificationURI = verificationURI
        self.verificationURIComplete = verificationURIComplete
        self.message =
            message
            ?? "To sign in, open \(verificationURI.absoluteString) on any device and enter the code \(userCode)."
        self.expiresOn = expiresOn
    }
}

/// The request for a code that a person types on another device.
///
/// If the provider publishes S256, only this program can redeem the code (PKCE).
/// - SeeAlso: [RFC 8628 §3.1](https://www.rfc-editor.org/rfc/rfc8628#section-3.1)
struct DeviceCodeRequest: Sendable {
    let signIn: SignIn
    let extraParameters: [String: String]

    /// Returns the code and, if the provider publishes S256, the proof that this program requested it.
    ///
    /// Deviation: RFC 8628 has no PKCE, but Keycloak requires it of clients that are configured so. Other providers
    /// ignore unknown parameters (RFC 6749 §3.2), as they should; a provider that refuses is asked again without PKCE.
    func requestCode() async throws -> (DeviceAuthorizationResponse, ProofKey?) {
        if signIn.metadata.codeChallengeMethods?.contains("S256") == true {
            let proofKey = ProofKey()
            do {
                return (try await code(provenBy: proofKey), proofKey)
            } catch let error as AuthenticationError where error.serverError?.error == "invalid_request" {}
        }
        return (try await code(provenBy: nil), nil)
    }

    private func code(provenBy proofKey: ProofKey?) async throws -> DeviceAuthorizationResponse {
        let (environment, context, metadata) = (signIn.environment, signIn.context, signIn.metadata)
        guard let endpoint = metadata.deviceAuthorizationEndpoint else {
            throw context.error(
                .unsupported,
                """
                The provider publishes no endpoint for a sign-in on another device (device_authorization_endpoint). Sign in \
                with a browser or, if the provider has one all the same, name it with the authority.
                """
            )
        }
        let form = DeviceAuthorizationRequestMessage.items(
            clientID: environment.clientID,
            scopes: signIn.asked,
            codeChallenge: proofKey?.challenge,
            claims: signIn.claims,
            extra: signIn.authority.resourceItems + (try ExtraItems.checked(extraParameters, at: signIn.authority))
        )
        let (response, body) = try await environment.client.post(
            form,
            to: endpoint,
            secretIn: metadata.clientSecretPlace,
            context: context,
            authority: signIn.authority
        )
        let now = environment.clock.unixSeconds
        let json = try EndpointOutcome<JSONObject>(response, body, grant: .deviceCode, now: now, context: context)
            .members(asking: signIn.asked, beyond: signIn.scopes)
        do {
            return try DeviceAuthorizationResponse(json)
        } catch {
            throw unusable("\(error)")
        }
    }

    /// Returns the instructions for the person.
    func prompt(_ device: DeviceAuthorizationResponse, expiresOn: Date) throws -> DeviceCodePrompt {
        // The address is shown to a person, who opens it.
        guard WebAddress.isForPeople(device.verificationURI), let uri = URL(string: device.verificationURI) else {
            throw unusable("verification_uri is not an https address")
        }
        let complete = device.verificationURIComplete.flatMap { WebAddress.isForPeople($0) ? URL(string: $0) : nil }
        return DeviceCodePrompt(
            userCode: device.userCode,
            verificationURI: uri,
            verificationURIComplete: complete,
            message: device.message,
            expiresOn: expiresOn
        )
    }

    private func unusable(_ reason: String) -> AuthenticationError {
        signIn.context.error(
            .malformedResponse,
            "The provider's answer to the request for a code cannot be used: \(reason)."
        )
    }
}
