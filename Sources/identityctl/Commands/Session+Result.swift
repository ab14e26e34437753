// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import OAuthWire

extension Session {
    /// Writes a token, plainly or as JSON, and warns where it could not be kept.
    ///
    /// - Parameters:
    ///   - idToken: Stands in for the access token, and beside it in JSON.
    ///   - rests: Whether the cache outlives the program.
    func hand(over result: AuthenticationResult, _ idToken: IDToken? = nil, rests: Bool) async throws {
        let failure = await failureToKeep(result)
        if let failure {
            let reason = PlainReport.withReference(failure)
            console.line("Warning: the tokens could not be kept for the next time. \(reason)")
        }
        if isJSON {
            var report = JSONReport.result(result, persisted: failure == nil && rests)
            if let idToken {
                report["idToken"] = .string(idToken.text)
                report["idTokenExpiresOn"] = .string(idToken.expiresOn.utcText)
            }
            try self.result(report.line + "\n")
        } else {
            try self.result((idToken?.text ?? result.accessToken) + "\n")
        }
    }

    /// Why the tokens are not kept for the next time, after one more attempt; `nil` where they are.
    func failureToKeep(_ result: AuthenticationResult) async -> AuthenticationError? {
        guard case .failed(let failure) = result.persistence, await !finishPendingWork() else { return nil }
        return failure
    }
}
