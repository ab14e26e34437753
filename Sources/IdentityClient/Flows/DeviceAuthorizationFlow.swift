// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Logging
import OAuthWire

/// Gets a code for another device, and asks for tokens until the person has finished there.
///
/// Where the provider publishes S256, this program alone can redeem the code (PKCE).
/// - SeeAlso: [RFC 8628](https://www.rfc-editor.org/rfc/rfc8628)
struct DeviceAuthorizationFlow: Sendable {
    let environment: FlowEnvironment
    let context: RequestContext
    let parameters: DeviceCodeParameters

    func run(prompt: (DeviceCodePrompt) -> Void) async throws -> AuthenticationResult {
        if let timeout = parameters.timeout, timeout <= .zero {
            throw AuthenticationError(.invalidArgument, "The sign-in's time-out must be above 0.")
        }
        let configured = environment.configuration.authority
        let authority = parameters.authority ?? configured
        if parameters.authority != nil { try authority.checkFits(configured) }
        try environment.configuration.checkNamesOpenID(parameters.scopes, at: authority)
        try await PersistenceCheck(environment: environment, context: context)
            .run(isRequired: parameters.requiresPersistence)
        let metadata = try await environment.resolver.metadata(for: authority, context: context)
        let scopes = try parameters.scopes.checked()
            .appendingMissing(environment.configuration.scopesToAdd(for: authority, metadata))
        let claims = try ClaimsParameter.merged(parameters.claims, environment.configuration.clientCapabilities)

        let (device, proofKey) = try await provenCode(scopes, claims, authority, metadata)
        let lifetime = min(parameters.timeout ?? .seconds(device.expiresIn), .seconds(min(device.expiresIn, 86_400)))
        let deadline = Deadline(after: lifetime)
        let expiresOn = environment.clock.now.addingTimeInterval(Double(lifetime.components.seconds))
        prompt(try self.prompt(device, expiresOn: expiresOn))

        let form = TokenRequestMessage.deviceCode(
            clientID: environment.clientID,
            deviceCode: device.deviceCode,
            codeVerifier: proofKey?.verifier,
            scopes: authority.isMicrosoft ? scopes : [],
            claims: authority.isMicrosoft ? claims : nil,
            clientInfo: authority.hasHomeAccounts
        )
        let endpoint = TokenEndpoint(
            client: environment.client,
            authority: authority,
            metadata: metadata,
            clock: environment.clock,
            context: context
        )
        let response = try await poll(endpoint, form, pace: DevicePace(interval: device.interval), until: deadline)
        let grant = try await GrantValidation(environment: environment, context: context).signInGrant(
            response,
            authority: authority,
            metadata: metadata,
            nonce: nil,
            maxAge: nil,
            requestedScopes: scopes
        )
        let commit = SignInCommit(
            environment: environment,
            context: context,
            authority: authority,
            wanted: parameters.account,
            scopes: parameters.scopes
        )
        return try await commit.run(grant)
    }

    /// The code and, where the provider publishes S256, what proves that this program asked for it.
    ///
    /// Deviation: RFC 8628 has no PKCE, but Keycloak demands it of a client that is set to need it. Others ignore what they
    /// do not know (RFC 6749 §3.2), as they should; one that refuses is asked without.
    private func provenCode(
        _ scopes: [String],
        _ claims: String?,
        _ authority: Authority,
        _ metadata: AuthorityMetadata
    ) async throws -> (DeviceAuthorizationResponse, ProofKey?) {
        if metadata.codeChallengeMethods?.contains("S256") == true {
            let proofKey = ProofKey()
            do {
                return (try await code(scopes, claims, proofKey, authority, metadata), proofKey)
            } catch let error as AuthenticationError where error.serverError?.error == "invalid_request" {}
        }
        return (try await code(scopes, claims, nil, authority, metadata), nil)
    }

    private func code(
        _ scopes: [String],
        _ claims: String?,
        _ proofKey: ProofKey?,
        _ authority: Authority,
        _ metadata: AuthorityMetadata
    ) async throws -> DeviceAuthorizationResponse {
        guard let endpoint = metadata.deviceAuthorizationEndpoint else {
            throw AuthenticationError(
                .unsupported,
                """
                The provider publishes no endpoint for a sign-in on another device (device_authorization_endpoint): use \
                a browser or, if the provider has one all the same, name it with the authority.
                """,
                correlationID: context.correlationID
            )
        }
        let form = DeviceAuthorizationRequestMessage.items(
            clientID: environment.clientID,
            scopes: scopes,
            codeChallenge: proofKey?.challenge,
            claims: claims,
            extra: try ExtraItems.checked(parameters.extraParameters)
        )
        let answer = try await environment.client.post(
            form,
            to: endpoint,
            secretIn: metadata.clientSecretPlace,
            context: context,
            authority: authority
        )
        let now = environment.clock.unixSeconds
        let json = try EndpointVerdict(answer, grant: .deviceCode, now: now, context: context)
            .members(asking: scopes, beyond: parameters.scopes)
        do {
            return try DeviceAuthorizationResponse(json)
        } catch {
            throw unusable("\(error)")
        }
    }

    private func prompt(_ device: DeviceAuthorizationResponse, expiresOn: Date) throws -> DeviceCodePrompt {
        // It is shown to a person, who follows it.
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

    /// Asks until there is an answer that ends it, or the code is void.
    ///
    /// - SeeAlso: [RFC 8628 §3.4 and §3.5](https://www.rfc-editor.org/rfc/rfc8628#section-3.4)
    private func poll(
        _ endpoint: TokenEndpoint,
        _ form: [(String, String)],
        pace: DevicePace,
        until deadline: Deadline
    ) async throws -> TokenResponse {
        var (pace, deadline) = (pace, deadline)
        while true {
            guard deadline.remaining > pace.wait else {
                // Asking once more before the end would be too early, and after it too late.
                try await environment.clock.sleep(for: deadline.remaining)
                throw AuthenticationError(
                    .interactionTimedOut,
                    "The code became void before the sign-in was finished. Start again for a new one.",
                    correlationID: context.correlationID
                )
            }
            try await environment.clock.sleep(for: pace.wait)
            deadline.waited += pace.wait
            let answer: TokenEndpointAnswer
            do {
                answer = try await endpoint.send(form, grant: .deviceCode)
            } catch let error as AuthenticationError where .network ~= error.code && error.mayPass {
                answer = .ambiguous(error)
            }
            if case .granted(let response) = answer { return response }
            try pace.note(answer)
        }
    }

    private func unusable(_ reason: String) -> AuthenticationError {
        AuthenticationError(
            .malformedResponse,
            "The provider's answer to the request for a code cannot be used: \(reason).",
            correlationID: context.correlationID
        )
    }
}

extension DeviceAuthorizationFlow {
    /// When the code is void, by the time that has passed: the wall clock may be set meanwhile.
    fileprivate struct Deadline {
        /// What was slept; a test's clock takes no real time for it.
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
    /// Whether the network may be there again in a moment.
    fileprivate var mayPass: Bool {
        ![.tlsFailed, .transportUnavailable].contains(code)
    }
}
