// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

extension LoginCommand {
    /// What `--if-needed` comes to.
    enum Need {
        /// Somebody is signed in.
        case none(AuthenticationResult)
        /// It is this process's turn to ask the person, until the lock is ended; `nil` where there is no place for one.
        case signIn(HeldLock?)
    }

    /// Whether a person has to sign in. Where several processes find that, one after the other gets the turn, and those
    /// behind the first one find its tokens.
    ///
    /// - Throws: What a silent acquisition throws, unless a person is needed; `.interactionTimedOut` when the turn did not
    ///   come in the time that a sign-in has.
    func need(
        _ wanted: Given?,
        _ parameters: InteractiveParameters,
        _ application: PublicClientApplication,
        _ console: Console
    ) async throws -> Need {
        if let result = try await application.acquireTokenIfSignedIn(wanted, parameters) { return .none(result) }
        let turn = try await Self.turn(
            in: try RuntimeDirectory.path(),
            application.configuration,
            parameters.timeout,
            console
        )
        if let result = try await application.acquireTokenIfSignedIn(wanted, parameters) {
            turn?.end()
            return .none(result)
        }
        return .signIn(turn)
    }

    /// The turn to sign in to a provider with a client, in a group. Where no lock can be had, as in a container whose user
    /// has no home, everybody's turn is at once.
    static func turn(
        in directory: @autoclosure () throws -> String,
        _ configuration: PublicClientApplication.Configuration,
        _ timeout: Duration,
        _ console: Console
    ) async throws -> HeldLock? {
        let key = CacheKey(
            group: configuration.group,
            kind: .application,
            name: Digest.hexadecimal(of: [configuration.clientID.rawValue, configuration.authority.url])
        )
        func take(_ timeout: Duration) async throws -> HeldLock {
            let directory = try directory() + "/sign-in"
            return try await SharedLocks(directory: directory, timeout: timeout, pause: .milliseconds(100)).take(
                for: key
            )
        }
        do {
            do {
                return try await take(.zero)
            } catch AuthenticationError.Code.cacheBusy {
                console.line("Another sign-in for this client is under way. Waiting for its end; Ctrl-C gives up.")
            }
            return try await take(timeout)
        } catch AuthenticationError.Code.cacheBusy {
            throw AuthenticationError(
                .interactionTimedOut,
                "Another sign-in for this client did not end in time. Finish it in the browser, or end it, and try again."
            )
        } catch AuthenticationError.cache {
            return nil
        }
    }
}

extension PublicClientApplication {
    /// How long a sign-in may take from its tokens being stored to its end.
    private static let grace = Duration.seconds(2)

    /// Signs in, or takes the tokens of another command that has signed in meanwhile: one without `--if-needed` waits for no
    /// turn.
    func watching(
        for wanted: Given?,
        _ parameters: InteractiveParameters,
        _ console: Console,
        while signIn: @escaping @Sendable () async throws -> AuthenticationResult
    ) async throws -> AuthenticationResult {
        guard let changes = configuration.cache.changes(in: configuration.group) else { return try await signIn() }
        return try await withThrowingTaskGroup(of: AuthenticationResult?.self) { group in
            defer { group.cancelAll() }
            group.addTask { try await signIn() }
            group.addTask {
                for await key in changes where key.kind == .account {
                    // A failure is no reason to end the sign-in.
                    guard let found = try? await self.acquireTokenIfSignedIn(wanted, parameters) else { continue }
                    // This sign-in stores its tokens shortly before it ends.
                    try await Task.sleep(for: Self.grace)
                    console.line("Another command has signed in meanwhile.")
                    return found
                }
                return nil
            }
            while let ended = try await group.next() {
                if let ended { return ended }
            }
            throw CancellationError()
        }
    }

    /// A token without asking anyone; `nil` where a person is needed.
    fileprivate func acquireTokenIfSignedIn(
        _ wanted: Given?,
        _ parameters: InteractiveParameters
    ) async throws -> AuthenticationResult? {
        do {
            let account = try await chosenAccount(wanted)
            return try await acquireTokenSilently(
                SilentParameters(scopes: parameters.scopes, account: account, claims: parameters.claims)
            )
        } catch AuthenticationError.interactionRequired {
            return nil
        }
    }
}
