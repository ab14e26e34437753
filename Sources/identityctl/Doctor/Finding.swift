// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import OAuthWire

/// One thing that a sign-in needs or could use, and whether this machine has it.
struct Finding: Hashable, Sendable {
    enum State: String, Hashable, Sendable {
        case ok, lack
        /// It was not asked for, or could not be found out.
        case unknown
    }

    let check: String
    let state: State
    /// What there is, or what is not.
    let found: String
    /// What to do about a lack.
    var advice: String?
    /// What the program ends with because of a lack.
    var status = ExitStatus.done

    static func ok(_ check: String, _ found: String) -> Finding {
        Finding(check: check, state: .ok, found: found)
    }

    static func lack(_ check: String, _ found: String, _ advice: String, _ status: ExitStatus) -> Finding {
        Finding(check: check, state: .lack, found: found, advice: advice, status: status)
    }

    static func unknown(_ check: String, _ why: String) -> Finding {
        Finding(check: check, state: .unknown, found: why)
    }

    /// The same, but for a lack of what is not needed.
    func notNeeded(_ whom: String) -> Finding {
        state == .lack ? .unknown(check, "\(found); not needed \(whom)") : self
    }

    /// A lack as the library tells it.
    static func lack(_ check: String, _ found: String, _ error: any Error) -> Finding {
        lack(check, found, JSONReport.message(of: error), ExitStatus(for: error))
    }
}

extension [Finding] {
    /// The first lack's, or 0.
    var status: ExitStatus {
        first { $0.state == .lack }?.status ?? .done
    }

    /// A table for people: a line for each, and beneath it what to do.
    var table: String {
        let width = map(\.check.count).max() ?? 0
        return map { finding in
            let name = finding.check + String(repeating: " ", count: width - finding.check.count)
            let state = finding.state == .unknown ? "-   " : finding.state == .ok ? "ok  " : "lack"
            let advice = finding.advice.map { String(repeating: " ", count: width + 8) + $0.printable + "\n" }
            return "\(name)  \(state)  \(finding.found.printable)\n" + (advice ?? "")
        }.joined()
    }

    var json: JSONObject {
        let checks = map { finding in
            JSONValue.object(
                JSONObject([
                    ("check", .string(finding.check)),
                    ("state", .string(finding.state.rawValue)),
                    ("found", .string(finding.found)),
                    ("advice", finding.advice.map { .string($0) } ?? .null),
                ])
            )
        }
        return JSONObject([("checks", .array(checks)), ("status", .integer(Int64(status.rawValue)))])
    }
}
