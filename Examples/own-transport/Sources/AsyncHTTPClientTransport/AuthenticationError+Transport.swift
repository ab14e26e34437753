// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import AsyncHTTPClient
import IdentityClient
import NIOCore
import NIOPosix
import NIOSSL

extension AuthenticationError {
    /// Maps a failure of AsyncHTTPClient to an error for the person at the program. It never requires a sign-in.
    init(transportError error: any Error, host: String) {
        let (code, message): (Code, String) =
            switch error {
            case let error as HTTPClientError where Self.timeouts.contains(error):
                (.networkTimedOut, "\(host) did not answer within the time allowed. Try again.")
            case HTTPClientError.remoteConnectionClosed as HTTPClientError, is IOError, is ChannelError:
                (.connectionFailed, "The connection to \(host) broke before the answer was complete. Try again.")
            case let error as NIOConnectionError where error.connectionErrors.isEmpty:
                (.nameNotResolved, "The name \(host) could not be resolved. Check the name and the network.")
            case is NIOConnectionError:
                (.connectionFailed, "No connection to \(host). Check that it runs and that the network lets you there.")
            case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError:
                (.tlsFailed, "No secure connection to \(host): its certificate is not trusted, or TLS failed.")
            case is NIOTooManyBytesError:
                (.malformedResponse, "\(host) answered with more bytes than are accepted.")
            default:
                (.network, "The request to \(host) failed. Try again.")
            }
        self.init(code, message, underlyingError: error)
    }

    private static var timeouts: [HTTPClientError] {
        [
            .deadlineExceeded, .connectTimeout, .readTimeout, .writeTimeout, .tlsHandshakeTimeout,
            .getConnectionFromPoolTimeout,
        ]
    }
}
