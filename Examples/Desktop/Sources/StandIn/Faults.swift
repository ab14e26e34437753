// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Synchronization

extension StandIn {
    /// The planned failures of the services' answers. A test plans them, or another process with `POST
    /// /stand-in/faults`.
    public final class Faults: Sendable {
        /// A service of the stand-in.
        public enum Service: String, Codable, Sendable {
            /// Graph.
            case graph
            /// The to-do list.
            case tasks
        }

        /// A failure of one answer.
        public enum Fault: String, Codable, Sendable {
            /// 401 that says only that the token is invalid.
            case unauthorized
            /// 401 with a claims challenge. After that, only tokens requested with its claims are valid.
            case claimsChallenge
            /// 401 with a claims challenge; the provider also refuses to renew the person's tokens until they sign in
            /// again.
            case secondFactor
            /// 429 with `Retry-After`.
            case throttled
            /// 503.
            case unavailable
            /// 500.
            case broken
            /// The correct answer, but late.
            case slow
        }

        /// A plan for faults.
        public struct Plan: Codable, Sendable {
            /// The service whose answers fail.
            public var service: Service
            /// The fault.
            public var fault: Fault
            /// The number of answers; 1 if left out.
            public var times: Int?
            /// The seconds in `Retry-After`, or the delay of a slow answer in seconds; 1 if left out.
            public var seconds: Int?

            /// Creates a plan for `times` faults of one kind.
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

        /// The claims that a claims challenge demands.
        static let claims = #"{"access_token":{"acrs":{"essential":true,"value":"c1"}}}"#

        private let state = Mutex(State())

        /// Makes the next answers of a service fail, after the faults that are already planned.
        public func add(_ plan: Plan) {
            state.withLock { $0.plans.append(plan) }
        }

        /// Clears the plans, and stops demanding claims.
        public func clear() {
            state.withLock { $0 = State() }
        }

        /// Removes and returns the plan for the next answer.
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
