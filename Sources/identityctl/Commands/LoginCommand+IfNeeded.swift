// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

extension LoginCommand {
    /// The decision that `--if-needed` leads to.
    enum Need {
        /// An account is signed in.
        case none(AuthenticationResult)
        /// This process has the turn to ask the person until it ends the lock. The lock is `nil` if no lock can be had.
        case signIn(HeldLock?)
    }

    /// Decides whether a person has to sign in. If several processes need a sign-in, they get the turn one after the
    /// other, and the later processes find the tokens of the first.
    ///
    /// - Throws: The errors of a silent acquisition, except those that ask for a person; `.interactionTimedOut` if the
    ///   turn does not come within the time limit of a sign-in.
    func need(
        _ wanted: Given?,
        _ parameters: InteractiveParameters,
        _ application: PublicClientApplication,
        _ console: Console
    ) async throws -> Need {
        if let result = try await application.acquireTokenIfSignedIn(wanted, parameters) { return .none(result) }
        let configuration = application.configuration
        let turn = try await SignInTurn.ofCommand(
            in: try RuntimeDirectory.path(),
            of: [configuration.clientID.rawValue, configuration.authority.fullName],
            configuration.group,
            parameters.timeout,
            console
        )
        if let result = try await application.acquireTokenIfSignedIn(wanted, parameters) {
            turn?.end()
            return .none(result)
        }
        return .signIn(turn)
    }
}

extension PublicClientApplication {
    /// The longest time from the moment a sign-in stores its tokens until the sign-in ends.
    private static let grace = Duration.seconds(2)

    /// Signs in, or takes the tokens of another command that signs in meanwhile. A command without `--if-needed` waits
    /// for no turn.
    func watching(
        for wanted: Given?,
        _ parameters: InteractiveParameters,
        _ console: Console,
        while signIn: @escaping @Sendable () async throws -> AuthenticationResult
    ) async throws -> AuthenticationResult {
        let (cache, records) = (configuration.cache, configuration.group)
        // Before the first sign-in there is no directory to watch. The sign-in itself reports why there can be none.
        if cache.changes(in: records) == nil { try? await cache.checkWritable(in: records) }
        guard let changes = cache.changes(in: records) else { return try await signIn() }
        return try await withThrowingTaskGroup(of: AuthenticationResult?.self) { group in
            defer { group.cancelAll() }
            group.addTask { try await signIn() }
            group.addTask {
                for await key in changes where key.kind == .account {
                    // A failed look at the cache does not end the sign-in.
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

    /// Returns a token without a sign-in, or `nil` if a person has to sign in.
    func acquireTokenIfSignedIn(
        _ wanted: Given?,
        _ parameters: InteractiveParameters
    ) async throws -> AuthenticationResult? {
        do {
            let account = try await chosenAccount(wanted)
            var silent = SilentParameters(scopes: parameters.scopes, account: account, claims: parameters.claims)
            silent.scheme = parameters.scheme
            return try await acquireTokenSilently(silent)
        } catch AuthenticationError.Code.interactionRequired {
            return nil
        }
    }
}
