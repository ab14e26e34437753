// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import OAuthWire

/// One thing that a sign-in needs or could use, and whether this machine has it.
struct Finding: Hashable, Sendable {
    enum State: String, Hashable, Sendable {
        case ok, lack
        /// The check was not made, or gave no answer.
        case unknown
    }

    let check: String
    let state: State
    /// A description of what exists or is missing.
    let found: String
    /// The advice on how to end a lack.
    var advice: String?
    /// The exit status of the program for a lack.
    var status = ExitStatus.done
    /// The profiles that it is about; empty for none.
    var profiles: [String] = []

    static func ok(_ check: String, _ found: String) -> Finding {
        Finding(check: check, state: .ok, found: found)
    }

    static func lack(_ check: String, _ found: String, _ advice: String, _ status: ExitStatus) -> Finding {
        Finding(check: check, state: .lack, found: found, advice: advice, status: status)
    }

    static func unknown(_ check: String, _ why: String) -> Finding {
        Finding(check: check, state: .unknown, found: why)
    }

    /// Returns the finding as that of another check.
    func renamed(_ check: String) -> Finding {
        Finding(check: check, state: state, found: found, advice: advice, status: status, profiles: profiles)
    }

    /// Returns the finding with a lack turned into one that does not matter.
    func notNeeded(_ whom: String) -> Finding {
        guard state == .lack else { return self }
        var finding = Finding.unknown(check, "\(found); not needed \(whom)")
        finding.profiles = profiles
        return finding
    }

    /// Returns a lack that the library reports as an error.
    static func lack(_ check: String, _ found: String, _ error: any Error) -> Finding {
        lack(check, found, JSONReport.message(of: error), ExitStatus(for: error))
    }
}

extension Finding {
    /// Returns a lack with the command that ends it, if that is a sign-in with `options`.
    static func lack(_ check: String, _ found: String, _ error: any Error, signingInWith options: SharedOptions)
        -> Finding
    {
        let advice = [JSONReport.message(of: error), PlainReport.advice(error, options)].compactMap(\.self)
        return lack(check, found, advice.joined(separator: " "), ExitStatus(for: error))
    }
}

extension [Finding] {
    /// The exit status of the first lack, or 0.
    var status: ExitStatus {
        first { $0.state == .lack }?.status ?? .done
    }

    /// A table for people: a line for each finding, with its advice beneath.
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
            var row = JSONObject([
                ("check", .string(finding.check)),
                ("state", .string(finding.state.rawValue)),
                ("found", .string(finding.found)),
                ("advice", finding.advice.map { .string($0) } ?? .null),
            ])
            if !finding.profiles.isEmpty { row["profiles"] = .strings(finding.profiles) }
            return JSONValue.object(row)
        }
        return JSONObject([("checks", .array(checks)), ("status", .integer(Int64(status.rawValue)))])
    }
}
