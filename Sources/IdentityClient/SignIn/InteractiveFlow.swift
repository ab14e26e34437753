// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityTelemetry
import Logging
import OAuthWire

/// The flow that opens the browser, waits for the right redirect, and finishes the sign-in. With an identity broker, that
/// is asked first.
struct InteractiveFlow: Sendable {
    let environment: FlowEnvironment
    let context: RequestContext

    func run(_ parameters: InteractiveParameters) async throws -> AuthenticationResult {
        if let result = try await BrokerSignIn(environment: environment, context: context).run(parameters) {
            return result
        }
        let preparation = try await AuthorizationPreparation(
            environment: environment,
            parameters: parameters,
            context: context
        )
        // Start to listen first: the address names the bound port.
        let listener = try await environment.configuration.redirectReceiver.start(
            for: preparation.redirectURI,
            responseMode: preparation.responseMode
        )
        let outcome: Result<AuthenticationResult, any Error>
        do {
            let request = try await preparation.request(redirectURI: listener.redirectURI.absoluteString)
            outcome = .success(try await signIn(request, listener))
        } catch {
            outcome = .failure(error)
        }
        await listener.close()
        return try outcome.get()
    }

    private func signIn(
        _ request: AuthorizationRequest,
        _ listener: any RedirectListener
    ) async throws -> AuthenticationResult {
        let (redirect, response) = try await shown(request, listener)
        request.parameters.onProgress?(.redirectReceived)
        let flow = AuthorizationCodeFlow(environment: environment, context: context)
        do {
            let result = try await flow.finish(try response.get(), to: request)
            await listener.answer(redirect, with: RedirectPage(outcome: .succeeded))
            return result
        } catch {
            let message = (error as? AuthenticationError)?.message
            await listener.answer(redirect, with: RedirectPage(outcome: .failed, message: message))
            throw error
        }
    }

    /// Shows the page and waits for the answer. The wait does not depend on the launcher's return.
    private func shown(
        _ request: AuthorizationRequest,
        _ listener: any RedirectListener
    ) async throws -> (ReceivedRedirect, Result<AuthorizationResponse, any Error>) {
        let timeout = request.parameters.timeout
        // Reported at once, so that a person who sees it need not wait for the end. A browser may still fall back to
        // http.
        listener.httpsRedirects?.report { [logger = context.logger] in
            logger.warning("\(HTTPSRedirects.signInExplanation)")
        }
        // Reported here, because opening the browser may go on after the sign-in has ended.
        request.parameters.onProgress?(.waitingForPerson(until: .now + timeout))
        return try await environment.configuration.telemetry.observe(.person, completion: Completion.of) {
            try await answer(to: request, from: listener, within: timeout)
        }
    }

    private func answer(
        to request: AuthorizationRequest,
        from listener: any RedirectListener,
        within timeout: Duration
    ) async throws -> (ReceivedRedirect, Result<AuthorizationResponse, any Error>) {
        do {
            return try await withDeadline(timeout) {
                try await IdentityClient.answer(whileOpening: { try await show(request) }) {
                    try await answer(to: request, from: listener)
                }
            }
        } catch is DeadlineExceeded {
            throw AuthenticationError(
                .interactionTimedOut,
                "Sign-in was not finished within \(timeout.components.seconds) seconds. "
                    + (listener.httpsRedirects?.isSeen == true
                        ? HTTPSRedirects.signInExplanation
                        : """
                        If the browser showed an error of the provider, check the client ID, and that the redirect URI \
                        \(listener.redirectURI.absoluteString) is registered for it. Otherwise sign in again.
                        """),
                correlationID: context.correlationID
            )
        }
    }

    private func show(_ request: AuthorizationRequest) async throws {
        request.parameters.onAuthorizationURL?(request.url)
        let hasAddress = request.parameters.onAuthorizationURL != nil && !request.parameters.requiresBrowser
        do {
            let advice = "No browser could be opened. Show the person the address instead (onAuthorizationURL)."
            try await environment.open(request.url, elseSaying: advice, context)
            environment.configuration.capture?.note("The browser was opened.", context.correlationID)
        } catch let error as AuthenticationError where hasAddress {
            if !Task.isCancelled { request.parameters.onProgress?(.browserUnavailable(message: error.message)) }
            context.logger.debug(
                "No browser could be opened; the person has the address",
                metadata: ["identity.error": "\(error.shortDescription)"]
            )
        }
    }

    /// Waits for the redirect with this request's state. All other redirects are refused, and the wait goes on.
    private func answer(
        to request: AuthorizationRequest,
        from listener: any RedirectListener
    ) async throws -> (ReceivedRedirect, Result<AuthorizationResponse, any Error>) {
        let flow = AuthorizationCodeFlow(environment: environment, context: context)
        while true {
            let redirect = try await listener.receive()
            do {
                if let response = try flow.response(in: redirect.url.absoluteString, to: request) {
                    return (redirect, .success(response))
                }
            } catch {
                return (redirect, .failure(error))
            }
            await listener.answer(redirect, with: RedirectPage(outcome: .refused))
        }
    }
}
