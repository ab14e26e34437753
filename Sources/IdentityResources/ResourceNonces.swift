// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import IdentityClient
import Synchronization

/// The newest nonce of each API, which the next signed request to it repeats.
final class ResourceNonces: Sendable {
    private let nonces = Mutex<[String: String]>([:])
    /// A client calls few APIs.
    private static let maximumCount = 20

    func nonce(for origin: String) -> String? {
        nonces.withLock { $0[origin] }
    }

    /// Keeps the nonce of an answer, if it has one.
    func note(_ response: HTTPResponse, from origin: String) {
        guard let nonce = AuthenticationScheme.nonce(in: response.headerFields) else { return }
        nonces.withLock { nonces in
            if nonces.count >= Self.maximumCount, nonces[origin] == nil { nonces.removeAll() }
            nonces[origin] = nonce
        }
    }
}
