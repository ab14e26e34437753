// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// What may keep a refresh from being sent: the server asked this process to wait, or another one, or has refused the same
/// again and again.
struct RefreshBrakes: Sendable {
    let environment: FlowEnvironment
    let context: RequestContext
    let request: SilentRequest
    let credentials: AccountCredentials

    private var shared: SharedThrottle {
        SharedThrottle(environment: environment, key: request.waitKey(environment.store))
    }

    /// - Throws: `.throttled`, or what ``LoopBrake`` says.
    func check(_ token: CachedRefreshToken) async throws {
        try environment.throttle.check(request.throttleKey, at: environment.clock.unixSeconds, context: context)
        try await shared.check(context)
        try environment.brake.check(loopKey(token), at: environment.clock.unixSeconds, context: context)
    }

    func note(_ error: AuthenticationError, for token: CachedRefreshToken) async {
        await shared.note(error)
        environment.throttle.note(error, for: request.throttleKey, at: environment.clock.unixSeconds)
        environment.brake.note(error, for: loopKey(token), at: environment.clock.unixSeconds)
    }

    func forget(_ token: CachedRefreshToken) {
        environment.brake.forget(loopKey(token))
    }

    /// What was noted counts for the refresh token that takes the other's place.
    func move(from token: CachedRefreshToken, to rotated: CachedRefreshToken) {
        environment.brake.move(loopKey(token), to: loopKey(rotated))
    }

    private func loopKey(_ token: CachedRefreshToken) -> String { request.loopKey(credentials, token) }
}
