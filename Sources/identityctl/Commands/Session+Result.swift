// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import OAuthWire

extension Session {
    /// Writes a token, plainly or as JSON, and warns if it could not be stored.
    ///
    /// - Parameters:
    ///   - idToken: The ID token to write in place of the access token, or beside it in JSON.
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

    /// Tries once more to store the tokens, and returns the error if they are still not stored.
    func failureToKeep(_ result: AuthenticationResult) async -> AuthenticationError? {
        guard case .failed(let failure) = result.persistence, await !finishPendingWork() else { return nil }
        return failure
    }
}
