// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityTesting
import SystemSupport

extension TokenCacheConformance {
    /// One promise of `TokenCache`, in words.
    ///
    /// ```swift
    /// try await kit.run(.roundTrip)
    /// ```
    public struct Rule: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The promise as a sentence.
        public let rawValue: String

        /// Names a rule by its sentence.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The promise as a sentence.
        public var description: String { rawValue }

        /// Nothing is found under a key that was never written.
        public static let absence = Self(rawValue: "A key that was never written has no record.")
        /// A stored record is found.
        public static let roundTrip = Self(
            rawValue: "The last stored record is found, byte for byte, under its key only."
        )
        /// Replacing with `nil` as the expected record stores only if there is no record.
        public static let insertIfAbsent = Self(
            rawValue: "A replace that expects no record stores only if there is none."
        )
        /// A refused replace changes nothing.
        public static let refusedReplace = Self(
            rawValue: "A replace that expects another record is refused and changes nothing."
        )
        /// Records are compared by their bytes.
        public static let comparesContent = Self(rawValue: "Records are compared by their bytes, wherever these lie.")
        /// Storing `nil` as the new record removes the old record.
        public static let removal = Self(rawValue: "Storing nothing removes the record that is expected, and no other.")
        /// A listing has the records of its group and kind.
        public static let listing = Self(rawValue: "A listing has every record of its kind and group, and no other.")
        /// A record may be empty.
        public static let emptyRecord = Self(rawValue: "An empty record is a record.")
        /// Records of 64 KiB and 1 MiB are kept.
        public static let largeRecords = Self(rawValue: "A record of up to 1 MiB with any bytes is kept as it is.")
        /// A second cache on the same storage has the same records.
        public static let twoInstances = Self(
            rawValue: "A second cache on the same storage finds, lists and replaces the same records."
        )
        /// A change by one cache is seen by the next read of another.
        public static let freshness = Self(
            rawValue: "The next read finds a record that another cache on the same storage has stored."
        )
        /// 200 increments at the same time make 200.
        public static let increments = Self(rawValue: "200 concurrent increments by compare-and-replace end at 200.")
        /// 200 increments at the same time on two caches make 200.
        public static let sharedIncrements = Self(
            rawValue: "200 concurrent increments by way of two caches end at 200."
        )
        /// A call by a cancelled task ends.
        public static let cancellation = Self(
            rawValue: "A cancelled task's call ends soon, and leaves the old record or the new one."
        )
        /// Checking whether records can be written stores none.
        public static let writabilityCheck = Self(
            rawValue: "A check whether records can be written stores no record and changes none."
        )
        /// Reserving a write stores nothing and stops no writer.
        public static let reservation = Self(
            rawValue: "A reservation stores nothing, keeps no write waiting, and is given back without a write too."
        )
        /// Hints name the changed record.
        public static let hints = Self(
            rawValue: "Hints, if there are any, name the changed keys of their group, and no other."
        )
        /// A lookup does not get slower with more records.
        public static let flatCost = Self(rawValue: "The cost of a lookup does not grow with the number of records.")

        /// All rules, in the order in which they are checked.
        public static let all: [Rule] = [
            .absence, .roundTrip, .insertIfAbsent, .refusedReplace, .comparesContent, .removal, .listing, .emptyRecord,
            .largeRecords, .twoInstances, .freshness, .increments, .sharedIncrements, .cancellation, .writabilityCheck,
            .reservation, .hints, .flatCost,
        ]
    }

    /// A rule that a cache breaks, and the observation that shows it.
    ///
    /// ```swift
    /// do { try await kit.run() } catch let failure as TokenCacheConformance.Failure { print(failure.rule) }
    /// ```
    public struct Failure: Error, CustomStringConvertible {
        /// The broken rule.
        public let rule: Rule

        /// The observation.
        public let explanation: String

        init(_ rule: Rule, _ explanation: String) {
            self.rule = rule
            self.explanation = explanation
        }

        /// The rule and the observation.
        public var description: String { "\(rule) But: \(explanation)" }
    }

    /// Runs `work` for at most `limit`. After that, or if the caller is cancelled, `work` is cancelled.
    ///
    /// - Parameter ending: How long to wait for cancelled work, since it may have records to remove; `timeout` by
    ///   default. Work that never ends is left behind.
    func bounded<Value: Sendable>(
        by limit: Duration,
        _ rule: Rule,
        ending: Duration? = nil,
        _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let outcome = Promise<Value>()
        let worker = Task {
            do {
                outcome.finish(.success(try await work()))
            } catch let failure as Failure {
                outcome.finish(.failure(failure))
            } catch {
                outcome.finish(.failure(Failure(rule, "the cache threw \(error).")))
            }
        }
        do {
            let value = try await outcome.value(within: limit, for: rule.description)
            try Task.checkCancellation()
            return value
        } catch {
            worker.cancel()
            // Waits in its own task, which is not cancelled. The outcome of the work no longer matters.
            await Task { _ = try? await outcome.value(within: ending ?? timeout, for: rule.description) }.value
            throw error is WaitTimedOut ? Failure(rule, "it took longer than \(limit).") : error
        }
    }
}
