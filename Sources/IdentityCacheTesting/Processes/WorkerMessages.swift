// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import IdentityClient
import LoopbackHTTP
import SystemSupport

/// The instructions for a worker, passed in an environment variable.
package struct WorkerOrders: Codable, Sendable {
    static let variable = "IDENTITY_TOKEN_CACHE_WORKER"

    /// The cache group that the workers of one proof share.
    package var group: String
    /// The provider's issuer on loopback; `nil` if the check concerns the records only.
    package var issuer: String?
    /// Whether that issuer is an authority of Entra ID's kind.
    package var isEntraID = false
    package var clientID = "test-client"
    /// How often the worker is told to go. It ends after that many rounds.
    package var rounds = 1
    /// How often the worker asks in one round, one time after the other. Its report is about the last time.
    package var times = 1
    /// The username of the account; `nil` means any account.
    package var username: String?
    package var scope = "api.read"
    package var forces = false
    package var removes = false
    /// The longest time of a request, in seconds.
    package var requestTimeout = 15.0
    /// Whether the worker's transport leaves the time of a request to the library, as a program's own transport does.
    package var hasOwnTransport = false
    /// The number of seconds by which the worker's clock is wrong.
    package var clockOffset = 0.0
    /// The name of the point at which the worker kills itself.
    package var crash: String?
    /// The name of the point at which the worker waits once until it is told to go on.
    package var pause: String?
    /// Whether the worker reports that it begins to wait for another process's refresh.
    package var tellsThatItWaits = false
    /// The record that the worker increments, and how often.
    package var counter: String?
    package var increments = 0

    package init(group: String) { self.group = group }

    var authority: Authority {
        get throws {
            let issuer = issuer ?? ""
            return try isEntraID ? Authority(url: issuer) : .openIDConnect(issuer: issuer)
        }
    }
}

/// A worker's report about one round.
package struct WorkerReport: Codable, Sendable {
    package var token: String?
    package var source: String?
    package var unsaved: String?
    package var error: String?
    package var retryAfter: Int?
    /// How many times of the round ended with an error.
    package var failures = 0
    /// How many requests the process has sent to the token endpoint so far.
    package var requests = 0
    package var milliseconds = 0.0

    init(error: String? = nil) { self.error = error }
}

/// An event for a worker: a byte on standard input, or the end of a round.
enum WorkerEvent: Sendable {
    /// Another caller starts, beside those that still wait.
    case go
    /// The first caller that is not yet cancelled gives up.
    case cancel
    /// A caller that waits at a point goes on.
    case goOn
    case ended

    static let bytes = (go: UInt8(ascii: "\n"), cancel: UInt8(0x18), goOn: UInt8(0x11))

    /// Reads standard input on its own thread. The events end when the input ends.
    static func read(into inbox: AsyncStream<WorkerEvent>.Continuation) throws {
        try DetachedThread.start {
            var byte: UInt8 = 0
            while true {
                let count = unsafe Glibc.read(0, &byte, 1)
                if count < 0, errno == EINTR { continue }
                guard count == 1 else { break }
                switch byte {
                case bytes.cancel: inbox.yield(.cancel)
                case bytes.goOn: inbox.yield(.goOn)
                default: inbox.yield(.go)
                }
            }
            inbox.finish()
        }
    }
}
