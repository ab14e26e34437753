// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// The access tokens of a program that runs for long: the token of now, and a new one before each ends.
///
/// ```swift
/// for try await token in app.liveTokens(SilentParameters(scopes: scopes, account: account)) {
///     connection.use(token.accessToken)
/// }
/// ```
///
/// The first element is a token from the cache or a refresh, as of `acquireTokenSilently`. A further element follows when a
/// token is renewed: five minutes before its end (with `minimumValidity`, that long; at most the second half of a shorter
/// life), up to five minutes or a tenth of its life earlier. That part differs from token to token, so that many programs do
/// not ask the provider at the same instant. A token that another process renews is an element within a minute.
///
/// The sequence ends when its task is cancelled. It throws `AuthenticationError`: at once if a renewal needs a person
/// (`.interactionRequired`) or a change of the set-up (`.configuration`), also when the account signs out, which is noticed
/// within a minute. Other failures are repeated with growing pauses of at most a minute, and thrown when the token has
/// expired, or not at all with ``waitingOutOutages()``. After an error the sequence has ended.
///
/// Nothing runs while no element is awaited. Elements do not queue up: a program that was busy, or a computer that slept,
/// gets a token that is valid now.
public struct LiveTokens: AsyncSequence, Sendable {
    /// A token.
    public typealias Element = AuthenticationResult

    let application: PublicClientApplication
    let parameters: SilentParameters
    let draw: @Sendable (String) -> Double
    private var waitsOutOutages = false

    init(
        application: PublicClientApplication,
        parameters: SilentParameters,
        draw: @escaping @Sendable (String) -> Double
    ) {
        self.application = application
        self.parameters = parameters
        self.draw = draw
    }

    /// Returns the same tokens as a sequence that goes on after an outage of any length: it throws only what waiting does
    /// not mend, that is if a person is needed or the set-up has to change. Between the end of a token and the end of the
    /// outage it has no element; each failed attempt is logged as of `acquireTokenSilently`.
    ///
    /// ```swift
    /// for try await token in app.liveTokens(SilentParameters(scopes: scopes, account: account)).waitingOutOutages() {
    ///     connection.use(token.accessToken)
    /// }
    /// ```
    public func waitingOutOutages() -> LiveTokens {
        var tokens = self
        tokens.waitsOutOutages = true
        return tokens
    }

    /// Creates an iterator that begins with the token of now.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(application: application, parameters: parameters, draw: draw, waitsOutOutages: waitsOutOutages)
    }

    /// Awaits the tokens.
    public struct AsyncIterator: AsyncIteratorProtocol, Sendable {
        private struct Current: Sendable {
            let result: AuthenticationResult
            let schedule: RenewalSchedule
        }

        let application: PublicClientApplication
        var parameters: SilentParameters
        let draw: @Sendable (String) -> Double
        let waitsOutOutages: Bool
        private var current: Current?
        private var failures = 0
        private var hasEnded = false

        init(
            application: PublicClientApplication,
            parameters: SilentParameters,
            draw: @escaping @Sendable (String) -> Double,
            waitsOutOutages: Bool
        ) {
            self.application = application
            self.parameters = parameters
            self.draw = draw
            self.waitsOutOutages = waitsOutOutages
        }

        /// Waits until there is another token, and returns it; `nil` after a cancellation or an error.
        ///
        /// - Throws: `AuthenticationError`.
        public mutating func next() async throws -> AuthenticationResult? {
            guard !hasEnded else { return nil }
            do {
                let result: AuthenticationResult
                if let current { result = try await token(after: current) } else { result = try await first() }
                take(result)
                return result
            } catch {
                hasEnded = true
                if error is CancellationError { return nil }
                throw error
            }
        }
    }
}

extension LiveTokens.AsyncIterator {
    private mutating func first() async throws -> AuthenticationResult {
        guard !parameters.usesCacheOnly else {
            throw AuthenticationError(.invalidArgument, "A sequence of live tokens cannot do with the cache only.")
        }
        parameters.allowsExpiredToken = false
        while true {
            do {
                let result = try await application.acquireTokenSilently(parameters)
                // For the first token only: otherwise each look would be a refresh.
                parameters.forcesRefresh = false
                parameters.claims = nil
                return result
            } catch let error as AuthenticationError where waitsOutOutages && !error.lasts {
                failures += 1
                try await application.configuration.clock.sleep(for: RenewalSchedule.pause(after: failures))
            }
        }
    }

    private mutating func take(_ result: AuthenticationResult) {
        let least = parameters.minimumValidity > .zero ? parameters.minimumValidity : nil
        let schedule = RenewalSchedule(left: left(of: result), validity: least, draw: draw(result.accessToken))
        current = Current(result: result, schedule: schedule)
        failures = 0
    }

    private func left(of result: AuthenticationResult) -> Duration {
        .seconds(result.expiresOn.timeIntervalSince(application.configuration.clock.now))
    }

    private mutating func token(after current: Current) async throws -> AuthenticationResult {
        while true {
            let rest = left(of: current.result)
            let wait = current.schedule.wait(left: rest, failures: failures)
            try await application.configuration.clock.sleep(
                for: rest > .zero ? min(wait, max(.seconds(1), rest)) : wait
            )
            try Task.checkCancellation()
            let isDue = current.schedule.isDue(left: left(of: current.result))
            do {
                let result = try await look(after: current, isDue: isDue)
                let isAnother =
                    result.accessToken != current.result.accessToken
                    || (result.expiredFor == nil) != (current.result.expiredFor == nil)
                if isAnother { return result }
                failures = isDue ? failures + 1 : 0
            } catch let error as AuthenticationError {
                guard !error.lasts, waitsOutOutages || left(of: current.result) > .zero else { throw error }
                failures += 1
            }
        }
    }

    /// Returns the token of now. If another one was due and did not come, asks once more for the reason.
    private func look(after current: Current, isDue: Bool) async throws -> AuthenticationResult {
        var parameters = parameters
        if isDue {
            parameters.minimumValidity = max(parameters.minimumValidity, current.schedule.margin + .seconds(1))
        }
        let result = try await application.acquireTokenSilently(parameters)
        guard isDue, failures == 0, result.accessToken == current.result.accessToken, result.expiredFor == nil else {
            return result
        }
        parameters.forcesRefresh = true
        return try await application.acquireTokenSilently(parameters)
    }
}

extension AuthenticationError {
    /// Whether waiting does not help.
    fileprivate var lasts: Bool {
        [.interactionRequired, .configuration, .scopesDeclined].contains(family)
    }
}
