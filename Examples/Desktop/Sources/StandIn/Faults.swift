// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

extension StandIn {
    /// What goes wrong with the services' answers: planned by a test, or by another process through
    /// `POST /stand-in/faults`.
    public final class Faults: Sendable {
        /// A service of the stand-in.
        public enum Service: String, Codable, Sendable {
            /// Graph.
            case graph
            /// The to-do list.
            case tasks
        }

        /// Something that goes wrong with one answer.
        public enum Fault: String, Codable, Sendable {
            /// 401 that says only that the token is not valid.
            case unauthorized
            /// 401 with a claims challenge; from then on, only tokens that were asked for with its claims are good.
            case claimsChallenge
            /// The same, and the provider refuses to renew the person's tokens until they have signed in again.
            case secondFactor
            /// 429 with `Retry-After`.
            case throttled
            /// 503.
            case unavailable
            /// 500.
            case broken
            /// The right answer, late.
            case slow
        }

        /// Faults to come.
        public struct Plan: Codable, Sendable {
            /// Whose answers fail.
            public var service: Service
            /// How.
            public var fault: Fault
            /// How many answers; 1 where it is left out.
            public var times: Int?
            /// Seconds: what `Retry-After` says, or how late a slow answer is; 1 where it is left out.
            public var seconds: Int?

            /// Plans `times` faults of one kind.
            public init(_ fault: Fault, of service: Service, times: Int = 1, seconds: Int = 1) {
                self.service = service
                self.fault = fault
                self.times = times
                self.seconds = seconds
            }
        }

        private struct State {
            var plans: [Plan] = []
            var demandsClaims: Set<Service> = []
        }

        /// What a claims challenge asks for.
        static let claims = #"{"access_token":{"acrs":{"essential":true,"value":"c1"}}}"#

        private let state = Mutex(State())

        /// Makes the next answers of a service fail, after those that are planned already.
        public func add(_ plan: Plan) {
            state.withLock { $0.plans.append(plan) }
        }

        /// Forgets what is planned, and demands no claims any more.
        public func clear() {
            state.withLock { $0 = State() }
        }

        /// What goes wrong with this answer.
        func take(for service: Service) -> Plan? {
            state.withLock { state in
                guard let index = state.plans.firstIndex(where: { $0.service == service }) else { return nil }
                let plan = state.plans[index]
                let left = (plan.times ?? 1) - 1
                if left > 0 { state.plans[index].times = left } else { state.plans.remove(at: index) }
                if [.claimsChallenge, .secondFactor].contains(plan.fault) { state.demandsClaims.insert(service) }
                return plan
            }
        }

        func demandsClaims(for service: Service) -> Bool {
            state.withLock { $0.demandsClaims.contains(service) }
        }
    }
}
