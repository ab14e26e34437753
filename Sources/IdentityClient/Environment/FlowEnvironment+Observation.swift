// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// A way to acquire a token.
enum AcquisitionKind: String, CaseIterable, Sendable {
    case silent
    case interactive
    /// A sign-in whose page the program shows itself.
    case prepared
    case deviceCode = "device_code"
}

extension FlowEnvironment {
    /// Runs an acquisition, and tells its begin and its end to the capture.
    func observing(
        _ kind: AcquisitionKind,
        _ context: RequestContext,
        _ work: () async throws -> AuthenticationResult
    ) async throws -> AuthenticationResult {
        guard let capture = configuration.capture else { return try await work() }
        capture.note("The acquisition begins: \(kind.rawValue).", context.correlationID)
        do {
            let result = try await work()
            let isStored = if case .persisted = result.persistence { true } else { false }
            capture.note(
                """
                The acquisition succeeded: \(kind.rawValue), source \(result.source.rawValue), \
                \(isStored ? "stored" : "not stored yet"), \(result.declinedScopes.count) scopes not granted.
                """,
                context.correlationID
            )
            return result
        } catch {
            capture.note("The acquisition failed: \(kind.rawValue).", error: error, context.correlationID)
            throw error
        }
    }
}
