// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

extension AuthenticationError {
    /// Whether the provider could not be reached, or could not answer for now.
    ///
    /// An untrusted certificate is none: another computer may be answering in the provider's place.
    var isOutage: Bool {
        switch code {
        case .tlsFailed: false
        // The library's own, after the same answer five times; or the provider's, about this program.
        case .requestLoop: (underlyingError as? AuthenticationError)?.isOutage ?? false
        case .network, .serverUnavailable: true
        default: false
        }
    }
}
