// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// The settings that stay the same during a refresh.
package struct RefreshRules: Hashable, Sendable {
    /// Whether an access token in the cache is not enough: the refresh is forced, or the request has claims.
    package var skipsAccessToken = false
    /// Whether a refused refresh token is sent again.
    package var isForced = false
    /// Whether a refresh token is sent once more if it is unknown whether the server acted on the first request.
    package var retries = true
    /// The duration of a lease, in milliseconds.
    package var leaseDuration: Int64

    package init(leaseDuration: Int64) {
        self.leaseDuration = leaseDuration
    }
}

/// The facts about a record that the machine decides by.
package struct RecordFacts: Hashable, Sendable {
    package var signInID: String
    /// A digest of the refresh token.
    package var token: String?
    /// Whether the record has an access token that answers the request.
    package var answers = false
    /// The seconds for which a refused refresh token is not sent again.
    package var refusedFor: Int64?
    /// Whether a newer version of the library wrote the record.
    package var isNewer = false

    package init(signInID: String, token: String?) {
        self.signInID = signInID
        self.token = token
    }
}

/// The facts about an error that the machine decides by.
package struct RefreshFault: Hashable, Sendable {
    /// The number of the error, which the driver keeps.
    package var number = 0
    package var needsPerson = false
    /// Whether the server accepts no requests for now.
    package var isUnavailable = false
    /// Whether the error is about the refresh token itself.
    package var refusesTheToken = false

    package init() {}
}

/// The outcome of a refresh.
package enum RefreshOutcome: Hashable, Sendable {
    /// The record that was read last has a token.
    case found
    /// The provider gave a token.
    case granted
    case failed(RefreshFault)
    case removed, withoutToken, newerVersion
    case refused(seconds: Int64)
    /// Other processes held the lease for too long; another process took it over; the cache accepts no change.
    case waitedTooLong, takenOver, notAccepted
}

extension RefreshMachine {
    package enum Event: Hashable, Sendable {
        case begin
        case leaseRead(LeaseSight)
        case leaseTaken(Bool)
        /// Whether the lease now outlasts one more request; `false` if another process has taken it over.
        case leaseRenewed(Bool)
        case recordRead(RecordFacts?)
        /// The cache reported a change.
        case hint
        case timeUp
        case done
        case failed(RefreshFault)
        /// Tokens arrived. The digest is that of a refresh token that is new and does not belong to another person.
        case answered(rotated: String?)
        /// It is unknown whether the server acted on the request.
        case ambiguous(RefreshFault)
        /// Keys or endpoints are fetched before the answer is accepted.
        case willFetch
        case believed
        /// The record after a commit, in the cache or in memory; `nil` if the account was removed.
        case committed(RecordFacts?)
        /// Whether a write of the account has not reached the cache.
        case unsaved(Bool)
        /// Every write has reached the cache.
        case written
        case neverToBeWritten
        /// The next refresh in this process takes the lease over.
        case takenByTheNext

        var isCommitted: Bool {
            if case .committed = self { true } else { false }
        }
    }

    package enum Action: Hashable, Sendable {
        /// The refresh token that a commit replaces: the one that was sent, or the new one if it is stored already.
        package enum CommitBase: Hashable, Sendable { case sent, rotated }

        case readLease, takeLease, renewLease, release
        /// Renews the lease while the answer is checked. No event follows.
        case renewLeaseMeanwhile
        /// Begins to listen to the cache. No event follows.
        case listen
        /// Waits until the cache reports a change or some time has passed.
        case wait
        /// Loads the transport while the record is read. No event follows.
        case prepare
        case readRecord
        case checkThrottling, findProvider, fetchKeys, send, validate
        /// Reserves the write of the answer. The part that no write used is given back with the lease.
        case reserve
        /// Resets the count of consecutive refusals. No event follows.
        case forgetRefusals
        case commitRotation
        case commit(base: CommitBase)
        case revoke
        case note(RefreshFault, of: CommitBase)
        case remember(RefreshFault)
        case lookForUnsaved
        /// Answers the caller. No event follows.
        case finish(RefreshOutcome)
        case waitForWrite(milliseconds: Int64)
        case save
    }
}
