// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

package import IdentityTelemetry

extension Completion {
    /// The end of an activity. An error is told by its family alone.
    package static func of<Value>(_ outcome: Result<Value, any Error>) -> Completion {
        switch outcome {
        case .success(let result as AuthenticationResult): .success(source: result.source.rawValue)
        case .success: .success()
        case .failure(let error as AuthenticationError): .failure(error.family.rawValue)
        case .failure(is CancellationError): .cancelled
        case .failure: .failure("other")
        }
    }
}
