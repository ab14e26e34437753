// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import IdentityClient
import IdentityKeyring
import OAuthWire

/// The sign-ins of all profiles, and of all resources that are known without one, each with its state.
struct SignInOverview {
    let session: Session

    /// A row of the overview.
    struct Row: Sendable {
        /// The profile's name, or the resource's address.
        let name: String
        let isProfile: Bool
        let account: Account?
        /// `nil` where no account is signed in.
        let state: SignInState?
        /// The reason why the state is not known.
        var problem: String?

        /// The command that signs in.
        var login: String {
            SharedOptions().adding(isProfile ? "--profile" : "--resource", name).command("login")
        }
    }

    /// - Throws: `UsageError` if the profiles cannot be listed; `CancellationError`.
    func rows() async throws -> [Row] {
        let directory = try ProfileDirectory(session.environment)
        // One answer of the keyring is enough: what waits for it once waits no second time.
        let keyring = try await DoctorCommand.outcome {
            try await KeyringTokenCache(applicationName: "identityctl").status()
        }
        var rows: [Row] = []
        var resources: Set<String> = []
        for name in try directory.names() {
            let profile = Result { try directory.profile(named: name) }
            if (try? profile.get())?.given("source") != nil { continue }
            if let resource = (try? profile.get())?.given("resource")?.text { resources.insert(resource) }
            rows += try await self.rows(name.text, true, profile, keyring)
        }
        for resource in try KnownResources(session.environment).all() {
            guard let address = resource.given("resource")?.text, !resources.contains(address) else { continue }
            rows += try await self.rows(address, false, .success(resource), keyring)
        }
        return rows
    }

    private func rows(
        _ name: String,
        _ isProfile: Bool,
        _ profile: Result<Profile, any Error>,
        _ keyring: Result<KeyringStatus, any Error>
    ) async throws -> [Row] {
        var row = Row(name: name, isProfile: isProfile, account: nil, state: nil)
        do {
            let lines = try profile.get()
            let client = ClientExamination(
                options: try ProviderOptions.ungiven,
                environment: session.environment.above(lines),
                session: session,
                keyring: keyring
            )
            let (_, store) = try await client.tokenStore()
            if store.state == .lack {
                row.problem = store.found
                return [row]
            }
            let accounts =
                lines.account == nil
                ? try await session.listing { try await client.accounts() } : [try await client.account()]
            guard !accounts.isEmpty else { return [row] }
            var rows: [Row] = []
            for account in accounts {
                let state = try await client.state(of: account)
                rows.append(Row(name: name, isProfile: isProfile, account: account, state: state))
            }
            return rows
        } catch AuthenticationError.Code.interactionRequired {
            return [row]
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            row.problem = JSONReport.message(of: error)
            return [row]
        }
    }
}

extension SignInOverview.Row {
    /// The state for a person.
    private var words: String {
        if let problem { return "not known: \(problem)" }
        return switch state {
        case nil: "not signed in; to sign in: \(login)"
        case .unasked: "not asked since the last token ended"
        case .good(let until, nil): "good until \(until.utcText)"
        case .good(let until, _): "good until \(until.utcText), and then: \(login)"
        case .ended(let end):
            "ended\(end.since.map { " since \($0.utcText)" } ?? ""); to sign in: \(login)"
        }
    }

    /// The username or else the name, what it is for, and the state.
    var columns: [String] {
        let person = account.map { $0.username ?? $0.displayName ?? $0.id.rawValue } ?? "-"
        return [person.printable, name.printable, words.printable]
    }

    var report: JSONObject {
        var report = JSONObject([
            (isProfile ? "profile" : "resource", .string(name)),
            ("account", account.map { .object(JSONReport.account($0, profile: nil)) } ?? .null),
        ])
        let word =
            switch state {
            case nil: problem == nil ? "notSignedIn" : "notKnown"
            case .unasked: "notAsked"
            case .good: "good"
            case .ended: "ended"
            }
        report["state"] = .string(word)
        if case .good(let until, let end) = state {
            report["goodUntil"] = .string(until.utcText)
            report["isLast"] = .bool(end != nil)
        }
        if case .ended(let end) = state { report["endedSince"] = end.since.map { .string($0.utcText) } ?? .null }
        report["problem"] = problem.map { .string($0) }
        report["login"] = .string(login)
        return report
    }
}

extension [SignInOverview.Row] {
    /// A line for each row, with tabs between its columns, or blanks for a person.
    func text(inColumns: Bool) -> String {
        let widths = (0..<2).map { column in map { $0.columns[column].count }.max() ?? 0 }
        return map { row in
            guard inColumns else { return row.columns.joined(separator: "\t") + "\n" }
            let padded = zip(row.columns, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
            return (padded + row.columns.suffix(1)).joined(separator: "  ") + "\n"
        }.joined()
    }
}
