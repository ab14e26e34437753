// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

extension Session {
    /// Writes an access token, plainly or as JSON, and warns where it could not be kept.
    ///
    /// - Parameter rests: Whether the cache outlives the program.
    func hand(over result: AuthenticationResult, rests: Bool) async throws {
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
            try self.result(JSONReport.result(result, persisted: isPersisted && rests).line + "\n")
        } else {
            try self.result(result.accessToken + "\n")
        }
    }
}
