// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Logging
import OAuthWire

/// The flow that shows a code for another device, and polls for tokens until the person has finished there.
/// - SeeAlso: [RFC 8628](https://www.rfc-editor.org/rfc/rfc8628)
struct DeviceAuthorizationFlow: Sendable {
    let environment: FlowEnvironment
    let context: RequestContext
    let parameters: DeviceCodeParameters

    func run(prompt: (DeviceCodePrompt) -> Void) async throws -> AuthenticationResult {
        if let timeout = parameters.timeout, timeout <= .zero {
            throw AuthenticationError(.invalidArgument, "The sign-in's time-out must be above 0.")
        }
        let (authority, metadata) = try await environment.signInTarget(
            parameters.authority,
            for: parameters.account,
            scopes: parameters.scopes,
            requiresPersistence: parameters.requiresPersistence,
            context
        )
        let proof = try await environment.proof(parameters.scheme, at: authority)
        let scopes = try parameters.scopes.checked()
            .appendingMissing(environment.configuration.scopesToAdd(for: authority, metadata))
        let claims = try ClaimsParameter.merged(parameters.claims, environment.configuration.clientCapabilities)
        let request = DeviceCodeRequest(
            environment: environment,
            context: context,
            parameters: parameters,
            authority: authority,
            metadata: metadata,
            scopes: scopes,
            claims: claims
        )
        let (device, proofKey) = try await request.requestCode()
        let lifetime = min(parameters.timeout ?? .seconds(device.expiresIn), .seconds(min(device.expiresIn, 86_400)))
        let deadline = Deadline(after: lifetime)
        let expiresOn = environment.clock.now.addingTimeInterval(Double(lifetime.components.seconds))
        prompt(try request.prompt(device, expiresOn: expiresOn))

        let form = TokenRequestMessage.deviceCode(
            clientID: environment.clientID,
            deviceCode: device.deviceCode,
            codeVerifier: proofKey?.verifier,
            scopes: authority.isMicrosoft ? scopes : [],
            claims: authority.isMicrosoft ? claims : nil,
            clientInfo: authority.hasHomeAccounts
        )
        let endpoint = TokenEndpoint(environment, authority, metadata, context)
        let response = try await poll(
            endpoint,
            form + (proof?.binding.parameters ?? []),
            polling: DevicePolling(interval: device.interval),
            until: deadline
        )
        let commit = SignInCommit(
            environment: environment,
            context: context,
            authority: authority,
            metadata: metadata,
            wanted: parameters.account,
            scopes: parameters.scopes,
            proof: proof
        )
        do {
            return try await commit.run(response, asked: scopes, nonce: nil, claims: claims, maxAge: nil)
        } catch let error as AuthenticationError where response.idToken == nil && error.code == .invalidIDToken {
            let endpoints = [
                "authorization \(metadata.authorizationEndpoint)", "token \(metadata.tokenEndpoint)",
                metadata.deviceAuthorizationEndpoint.map { "device authorization \($0)" },
            ].compactMap(\.self).joined(separator: ", ")
            throw AuthenticationError(
                .unsupported,
                """
                The provider issues no ID token for a sign-in on another device, so it does not say who signed in. Sign in \
                with a browser, or name the provider by its endpoints, as a plain OAuth 2.0 server, which is not asked for \
                openid: \(endpoints).
                """,
                correlationID: context.correlationID
            )
        }
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
                throw AuthenticationError(
                    .interactionTimedOut,
                    "The time was over before the sign-in was finished. Start again for a new code.",
                    correlationID: context.correlationID
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
