// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import OAuthWire

extension TestIdentityProvider {
    /// A failure of one answer.
    ///
    /// ```swift
    /// provider.failNext(.token, with: .dropAfterCommit, .serverError(status: 503))
    /// ```
    public struct Fault: Sendable {
        indirect enum Kind: Sendable {
            // Instead of acting.
            case drop
            case answer(ProviderResponse)
            case refuse(Refusal)
            case endless
            // Before acting.
            case delay(Duration, then: Fault?)
            case held(TestGate, then: Fault?)
            // After acting.
            case dropAfterCommit
            case truncate
            case replaceBody(status: Int?, contentType: String, body: [UInt8])
            case member(String, json: String?)
            case repeatMember(String)
            case insecureEndpoints
            case all([Fault])
        }

        let kind: Kind

        private init(_ kind: Kind) { self.kind = kind }

        /// The connection ends before the provider acts.
        public static let drop = Fault(.drop)

        /// The provider acts, for example rotates a refresh token, and the answer is lost.
        public static let dropAfterCommit = Fault(.dropAfterCommit)

        /// The provider acts, and the connection ends in the middle of the answer.
        public static let truncated = Fault(.truncate)

        /// The answer, or the fault `fault`, arrives late: by the provider's clock in the process, in real time on
        /// loopback.
        public static func delay(_ duration: Duration, then fault: Fault? = nil) -> Fault {
            Fault(.delay(duration, then: fault))
        }

        /// The provider acts, or fails with `fault`, once the gate opens.
        public static func held(by gate: TestGate, then fault: Fault? = nil) -> Fault {
            Fault(.held(gate, then: fault))
        }

        /// The given answer; the provider does not act.
        public static func answer(
            status: Int,
            headers: [(String, String)] = [],
            body: String = ""
        ) -> Fault {
            Fault(.answer(ProviderResponse(status: status, headers: headers, body: Array(body.utf8))))
        }

        /// Too many requests: 429 with `Retry-After` in whole seconds.
        public static func throttled(retryAfter: Duration?) -> Fault {
            let wait = retryAfter.map { [("Retry-After", String($0.components.seconds))] } ?? []
            return .answer(status: 429, headers: wait + [("Content-Type", "application/json")], body: "{}")
        }

        /// The server is broken or busy: any status from 500 on, without an explanation in the body.
        public static func serverError(status: Int = 503, retryAfter: Duration? = nil) -> Fault {
            .answer(status: status, headers: retryAfter.map { [("Retry-After", String($0.components.seconds))] } ?? [])
        }

        /// 200 with an HTML page, like the answer of a captive portal.
        public static let html = Fault.answer(
            status: 200,
            headers: [("Content-Type", "text/html")],
            body: "<!doctype html><title>Welcome to the guest network</title>"
        )

        /// 400 without a body, the way some servers refuse.
        public static let emptyBadRequest = Fault.answer(status: 400)

        /// A redirect, which a client must not follow.
        public static func redirect(to url: String, status: Int = 307) -> Fault {
            .answer(status: status, headers: [("Location", url)])
        }

        /// An OAuth error response, with Microsoft's members if the provider plays Entra ID.
        ///
        /// - Parameters:
        ///   - error: `error`, for example `invalid_grant`.
        ///   - description: `error_description`.
        ///   - suberror: `suberror`, Microsoft's second level.
        ///   - code: Microsoft's number of the error.
        ///   - claims: A claims challenge, JSON.
        ///   - status: The HTTP status; 200 sends the refusal with the status of success.
        public static func refusal(
            _ error: String,
            description: String = "Refused by the test.",
            suberror: String? = nil,
            code: Int? = nil,
            claims: String? = nil,
            status: Int = 400
        ) -> Fault {
            Fault(
                .refuse(
                    Refusal(error, description, status: status, number: code, suberror: suberror, claims: claims)
                )
            )
        }

        /// A body that never ends.
        public static let endless = Fault(.endless)

        /// 200 with a JSON object of `bytes` bytes.
        public static func oversized(bytes: Int = 1_100_000) -> Fault {
            let filler = String(repeating: "x", count: max(0, bytes - 16))
            return .answer(
                status: 200,
                headers: [("Content-Type", "application/json")],
                body: #"{"filler":"\#(filler)"}"#
            )
        }

        /// The provider acts, but the answer is not UTF-8.
        public static let notUTF8 = Fault(
            .replaceBody(
                status: nil,
                contentType: "application/json",
                body: Array(#"{"access_token":"a"#.utf8) + [0xFF, 0x22, 0x7D]
            )
        )

        /// The provider acts, and a member of its JSON answer is replaced: `json` is the text of any JSON value, and
        /// `nil` removes the member.
        public static func changing(_ member: String, to json: String?) -> Fault { Fault(.member(member, json: json)) }

        /// The provider acts, and a member of its JSON answer appears twice.
        public static func repeating(_ member: String) -> Fault { Fault(.repeatMember(member)) }

        /// The provider acts, and every `https` address in its answer becomes `http`.
        public static let insecureEndpoints = Fault(.insecureEndpoints)

        /// Several changes to one answer.
        public static func all(_ faults: Fault...) -> Fault { Fault(.all(faults)) }
    }
}

extension TestIdentityProvider.Fault: CustomStringConvertible {
    /// The kind of fault, without the bodies it carries, so that names of parameterized tests stay readable.
    public var description: String {
        switch kind {
        case .answer: "answer"
        case .replaceBody(_, let type, let body): "body(\(type), \(body.count) bytes)"
        case .delay(let duration, let fault): "delay(\(duration), then: \(fault?.description ?? "the answer"))"
        case .held(_, let fault): "held(then: \(fault?.description ?? "the answer"))"
        case .all(let faults): "all(\(faults.map(\.description).joined(separator: ", ")))"
        default: "\(kind)"
        }
    }
}
