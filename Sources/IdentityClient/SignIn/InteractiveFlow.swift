// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityTelemetry
import Logging
import OAuthWire
import Synchronization
import SystemSupport

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
            let request = try await preparation.request(redirectURI: listener.redirectURI)
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
            throw context.error(
                .interactionTimedOut,
                "Sign-in was not finished within \(timeout.components.seconds) seconds. "
                    + (listener.httpsRedirects?.isSeen == true
                        ? HTTPSRedirects.signInExplanation
                        : """
                        If the browser showed an error of the provider, check the client ID, and that the redirect URI \
                        \(listener.redirectURI.absoluteString) is registered for it. Otherwise sign in again.
                        """)
            )
        }
    }

    private func show(_ request: AuthorizationRequest) async throws {
        request.parameters.onAuthorizationURL?(request.url)
        let hasAddress = request.parameters.onAuthorizationURL != nil && !request.parameters.requiresBrowser
        do {
            let advice = "No browser could be opened. Show the person the address instead (onAuthorizationURL)."
            try await environment.open(request.url, elseSaying: advice, context)
            environment.configuration.observer?.note("The browser was opened.", error: nil, context.correlationID)
        } catch let error as AuthenticationError where hasAddress && error.code != .userCancelled {
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

/// A phase of a sign-in: who acts next, and what a window or a terminal can say meanwhile.
///
/// ```swift
/// parameters.onProgress = { phase in
///     if case .redirectReceived = phase { bringWindowToFront() }
/// }
/// ```
@nonexhaustive public enum SignInPhase: Hashable, Sendable {
    /// The person acts: the page is about to be shown, and the person has until this instant. The library cannot notice
    /// that the person closed the page.
    case waitingForPerson(until: ContinuousClock.Instant)

    /// The person still acts, but no browser could be opened; the message is the launcher's. The person has to open the
    /// address that ``InteractiveParameters/onAuthorizationURL`` received, or the program offers another way, such as a
    /// device code. If the program set no handler for the address, the sign-in ends with `.browserUnavailable` instead.
    case browserUnavailable(message: String)

    /// The identity broker could not be used, and the browser is opened instead: ``waitingForPerson(until:)`` follows
    /// once more. The message tells the reason.
    case brokerUnavailable(message: String)

    /// The program acts: the provider's answer, or its refusal, has arrived. The tokens are fetched, checked and
    /// stored; only then does the browser show how the sign-in ended.
    case redirectReceived
}

/// A gate that admits one sign-in of an application object at a time.
final class InteractionGate: Sendable {
    private final class Session: Sendable {
        /// A number that grows with every sign-in.
        let number: Int
        let ended = Promise<Void>()
        let isSuperseded = Mutex(false)
        let cancel = Mutex<(@Sendable () -> Void)?>(nil)

        init(number: Int) { self.number = number }

        func supersede() {
            isSuperseded.withLock { $0 = true }
            cancel.withLock { $0 }?()
        }
    }

    private struct State {
        var current: Session?
        var count = 0
        /// The number of the newest sign-in that supersedes others. It counts even after that sign-in has ended.
        var newest = 0

        mutating func session(_ policy: InteractiveParameters.PendingPolicy) -> Session {
            count += 1
            if policy == .supersede { newest = count }
            return Session(number: count)
        }
    }

    private let state = Mutex(State())

    /// Runs `body` while no other sign-in runs.
    ///
    /// - Parameter silently: Runs first if another sign-in had to end before this one: its result may serve both. A value
    ///   ends this sign-in.
    /// - Throws: `.interactionInProgress` or `.interactionSuperseded` as the policies say; what `body` throws.
    func run<Value: Sendable>(
        _ policy: InteractiveParameters.PendingPolicy,
        afterAnother silently: (@Sendable () async throws -> Value?)? = nil,
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let session = state.withLock { $0.session(policy) }
        let hasWaited = try await enter(session, policy)
        defer {
            state.withLock { $0.current = nil }
            session.ended.finish(.success(()))
        }
        let task = Task {
            if hasWaited, let value = try await silently?() { return value }
            return try await body()
        }
        session.cancel.withLock { $0 = { task.cancel() } }
        if session.isSuperseded.withLock({ $0 }) { task.cancel() }
        do {
            return try await withTaskCancellationHandler {
                try await task.value
            } onCancel: {
                task.cancel()
            }
        } catch is CancellationError where session.isSuperseded.withLock({ $0 }) {
            throw Self.superseded
        }
    }

    private static var superseded: AuthenticationError {
        AuthenticationError(.interactionSuperseded, "A newer sign-in took this one's place.")
    }

    /// - Returns: Whether another sign-in had to end first.
    private func enter(_ session: Session, _ policy: InteractiveParameters.PendingPolicy) async throws -> Bool {
        var hasWaited = false
        while true {
            let pending = try state.withLock { state in
                // Of two sign-ins that waited for a third, the newer may have started first.
                guard policy != .supersede || session.number == state.newest else { throw Self.superseded }
                if state.current == nil { state.current = session }
                return state.current
            }
            guard let pending, pending !== session else { return hasWaited }
            hasWaited = true
            switch policy {
            case .fail:
                throw AuthenticationError(
                    .interactionInProgress,
                    "Another sign-in of this application is under way: finish or cancel it first."
                )
            case .supersede where pending.number < session.number: pending.supersede()
            case .supersede, .wait: break
            }
            try await pending.ended.value()
        }
    }
}
