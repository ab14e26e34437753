// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// What a worker is to do, told in a variable of its environment.
package struct WorkerOrders: Codable, Sendable {
    static let variable = "IDENTITY_TOKEN_CACHE_WORKER"

    /// The cache group that the workers of one proof share.
    package var group: String
    /// The provider on loopback; `nil` when the records themselves are the matter.
    package var issuer: String?
    package var clientID = "test-client"
    /// How often it is told to go; it ends when it has acted as often.
    package var rounds = 1
    /// How often it asks in one round, one time after the other; its report is about the last time.
    package var times = 1
    /// Whose tokens; anybody's when `nil`.
    package var username: String?
    package var scope = "api.read"
    package var forces = false
    package var removes = false
    /// Seconds by which its clock is wrong.
    package var clockOffset = 0.0
    /// Where it kills itself.
    package var crash: String?
    /// Where it waits once until it is told to go on.
    package var pause: String?
    /// Whether it tells when it begins to wait for another process's refresh.
    package var tellsThatItWaits = false
    /// The record that it counts up, and how often.
    package var counter: String?
    package var increments = 0

    package init(group: String) { self.group = group }
}

/// What a worker tells about one round.
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
