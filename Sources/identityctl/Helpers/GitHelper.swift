// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import OAuthWire

extension Helper {
    static let git = Helper(
        name: "git",
        link: "git-credential-identityctl",
        hasOperation: true,
        options: ["--serves", "--username"],
        help: "'helper git get' is for git, which asks 'git-credential-identityctl get'.",
        answer: .call(GitCredential.answer)
    )
}

/// A description of a credential, as git writes it for a helper.
///
/// - SeeAlso: [git-credential](https://git-scm.com/docs/git-credential), "INPUT/OUTPUT FORMAT"
struct GitCredential: Hashable, Sendable {
    private var values: [String: String] = [:]
    private var understandsSchemes = false
    private var asksForBearer = false
    private var asksForBasic = false

    /// - Throws: `UsageError` for a line that git does not write. Of equal keys, the last wins, as in git.
    init(parsing bytes: [UInt8]) throws {
        for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            if line.isEmpty { break }
            guard line.count <= 65_535, !line.hasControls,
                let equals = line.firstIndex(of: UInt8(ascii: "=")),
                let key = String(validating: line[..<equals], as: UTF8.self),
                let value = String(validating: line[line.index(after: equals)...], as: UTF8.self)
            else { throw UsageError("git sent a line that is no key=value, or is too long.") }
            switch key {
            case "capability[]": understandsSchemes = understandsSchemes || value == "authtype"
            case "wwwauth[]":
                let scheme = value.split(separator: " ").first?.lowercased()
                asksForBearer = asksForBearer || scheme == "bearer"
                asksForBasic = asksForBasic || scheme == "basic"
            default: values[key] = value
            }
        }
    }

    /// The address that git wants a credential for.
    var address: ServedAddress? {
        guard let scheme = values["protocol"], ["https", "http"].contains(scheme), let host = values["host"] else {
            return nil
        }
        return ServedAddress(origin: "\(scheme)://\(host)", path: values["path"] ?? "")
    }

    /// The reason why there is no address, although git asks for one of a server with TLS.
    var problem: String? {
        guard address == nil, values["protocol"] == "https" else { return nil }
        return "'\((values["host"] ?? "").printable)' is no host that gets tokens. Git's address needs its ASCII form."
    }

    /// The username in the address, if there is one.
    var username: String? { values["username"].flatMap { $0.isEmpty ? nil : $0 } }

    /// The token or password that a server refused, if git tells it.
    var secret: String? { values["credential"] ?? values["password"] }

    /// Returns the answer to `get`. The token is a password, unless git and the server know only bearer tokens.
    func answer(username: String, token: String, expiresOn seconds: Int) -> String {
        let lines =
            understandsSchemes && asksForBearer && !asksForBasic
            ? ["capability[]=authtype", "authtype=Bearer", "credential=\(token)"]
            : ["username=\(username)", "password=\(token)"]
        return (lines + ["password_expiry_utc=\(seconds)"]).map { $0 + "\n" }.joined()
    }

    fileprivate static func answer(_ call: HelperCall, _ session: Session) async throws {
        guard ["get", "erase"].contains(call.operation) else {
            if call.operation == "capability" { try session.result("version 0\ncapability authtype\n") }
            return
        }
        let asked = try GitCredential(parsing: try HelperInput.request(endsAtEmptyLine: true))
        if let problem = asked.problem { session.console.line(problem) }
        guard call.operation == "get" else {
            guard let refused = asked.secret else { return }
            // A late call about an older token changes nothing.
            let source = try call.source(for: asked.address, of: asked.username, in: session)
            _ = try await source?.token(in: session, insteadOf: refused)
            return
        }
        do {
            guard let source = try call.source(for: asked.address, of: asked.username, in: session),
                let token = try await source.token(in: session)
            else { return }
            let answer = asked.answer(
                username: source.username ?? token.username ?? asked.username ?? TokenUsername.any,
                token: token.text,
                expiresOn: Int(token.expiresOn.timeIntervalSince1970)
            )
            try session.result(answer)
        } catch let failure as HelperFailure {
            // A password would not help: git ends, with the message on standard error.
            try session.result("quit=1\n")
            throw failure
        }
    }
}
