// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import LoopbackHTTP

/// Why a request is answered by the forwarder itself, in words that a program shows to its person.
package struct ForwardingProblem: Error, Sendable {
    package enum Code: String, Sendable {
        case signInNeeded = "sign-in-needed"
        case anotherAccount = "another-account"
        case consentRefused = "consent-refused"
        case refusedByPolicy = "refused-by-policy"
        case refusedByServer = "refused-by-server"
        case phantomMissing = "phantom-missing"
        case phantomWrong = "phantom-wrong"
        case notAllowed = "not-allowed"
        case browser
        case notThisHost = "not-this-host"
        case unreadable
        case storeLocked = "store-locked"
        case agentLocked = "agent-locked"
        case offline
        case providerBusy = "provider-busy"
        case upstreamUnreachable = "upstream-unreachable"
        case upstreamBadAnswer = "upstream-bad-answer"
        case upstreamSlow = "upstream-slow"
        case unknownWhetherDone = "unknown-whether-done"
        case tokenRenewed = "token-renewed"

        /// A sign-in that is needed is 403: programs ask for passwords at 401, and try again in silence at 503.
        fileprivate var status: Int {
            switch self {
            case .unreadable: 400
            case .phantomMissing, .phantomWrong: 401
            case .signInNeeded, .anotherAccount, .consentRefused, .refusedByPolicy, .refusedByServer, .notAllowed,
                .browser:
                403
            case .notThisHost: 421
            case .upstreamUnreachable, .upstreamBadAnswer, .unknownWhetherDone: 502
            case .storeLocked, .agentLocked, .offline, .providerBusy, .tokenRenewed: 503
            case .upstreamSlow: 504
            }
        }

        /// The seconds after which another try may help; `nil` if it is of no use.
        fileprivate var retryAfter: Int? {
            switch self {
            case .storeLocked, .agentLocked: 30
            case .offline, .providerBusy: 5
            case .tokenRenewed: 1
            default: nil
            }
        }
    }

    package let code: Code
    package let status: Int
    /// A sentence with the failure, and one with the remedy. It holds no token and no phantom.
    package let detail: String
    /// The seconds after which another try may help.
    package let retryAfter: Int?

    package init(_ code: Code, _ detail: String, retryAfter: Int? = nil) {
        self.code = code
        self.detail = detail
        status = code.status
        self.retryAfter = retryAfter ?? code.retryAfter
    }

    /// - Parameter problem: Why the request cannot be read.
    init(_ problem: MessageProblem) {
        code = .unreadable
        detail = "The forwarder does not pass on a request like this one."
        status = problem.status
        retryAfter = nil
    }

    /// The whole answer, after which the connection is closed.
    ///
    /// Two forms of error stand in the body: that of RFC 9457, and the `error.message` that programs of models show.
    func answer(to method: String, route: String) -> [UInt8] {
        let text = Self.quoted(detail)
        let body = """
            {"type":"urn:identityctl:forward:\(code.rawValue)","title":"\(code.rawValue)","status":\(status),\
            "detail":\(text),"error":{"type":"\(code.rawValue)","message":\(text)}}
            """
        var head = "HTTP/1.1 \(status) \(code.rawValue)\r\nServer: identityctl\r\nCache-Control: no-store\r\n"
        head += "Content-Type: application/problem+json\r\nContent-Length: \(body.utf8.count)\r\n"
        if let retryAfter { head += "Retry-After: \(retryAfter)\r\n" }
        if status == 401 { head += "WWW-Authenticate: Basic realm=\"identityctl \(route)\"\r\n" }
        // A program without the phantom may have it, and sends it only after this answer.
        if retryAfter == nil, code != .phantomMissing { head += "x-should-retry: false\r\n" }
        return Array((head + "Connection: close\r\n\r\n" + (method == "HEAD" ? "" : body)).utf8)
    }

    /// The text as JSON.
    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": quoted += "\\\(scalar)"
            case "\u{0}"..."\u{1F}": quoted += " "
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }
}
