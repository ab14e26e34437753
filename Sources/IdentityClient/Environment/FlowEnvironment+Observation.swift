// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityTelemetry

extension FlowEnvironment {
    /// Runs an acquisition, and tells its begin and its end to the capture, the metrics and the traces.
    func observing(
        _ activity: Activity,
        _ context: RequestContext,
        _ work: () async throws -> AuthenticationResult
    ) async throws -> AuthenticationResult {
        try await configuration.telemetry.observe(
            activity,
            correlationID: context.correlationID.uuidString.lowercased(),
            completion: Completion.of
        ) {
            try await capturing(activity, context, work)
        }
    }

    /// Counts a caller that waits for a refresh which another caller began.
    func countSharedRefresh() {
        configuration.telemetry?.record(.refresh(.shared))
    }

    private func capturing(
        _ activity: Activity,
        _ context: RequestContext,
        _ work: () async throws -> AuthenticationResult
    ) async throws -> AuthenticationResult {
        guard let capture = configuration.capture else { return try await work() }
        let kind = activity.rawValue
        capture.note("The acquisition begins: \(kind).", context.correlationID)
        do {
            let result = try await work()
            let isStored = if case .persisted = result.persistence { true } else { false }
            capture.note(
                """
                The acquisition succeeded: \(kind), source \(result.source.rawValue), \
                \(isStored ? "stored" : "not stored yet"), \(result.declinedScopes.count) scopes not granted.
                """,
                context.correlationID
            )
            return result
        } catch {
            capture.note("The acquisition failed: \(kind).", error: error, context.correlationID)
            throw error
        }
    }
}
