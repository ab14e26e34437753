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
        var isPersisted = true
        if case .failed(let failure) = result.persistence {
            // What could not be written is tried once more.
            isPersisted = await finishPendingWork()
            if !isPersisted {
                let reason = PlainReport.withReference(failure)
                console.line("Warning: the tokens could not be kept for the next time. \(reason)")
            }
        }
        if isJSON {
            var report = JSONReport.result(result, persisted: isPersisted && rests)
            if let idToken {
                report["idToken"] = .string(idToken.text)
                report["idTokenExpiresOn"] = .string(idToken.expiresOn.utcText)
            }
            try self.result(report.line + "\n")
        } else {
            try self.result((idToken?.text ?? result.accessToken) + "\n")
        }
    }
}
