// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import IdentityResources

/// The doctor's look at the tools that are set up.
struct IntegrationExamination {
    private let session: Session
    private let home: Home

    /// - Returns: `nil` without a home directory, where no tool is set up.
    init?(_ session: Session) {
        guard let home = try? Home(session.environment) else { return nil }
        self.session = session
        self.home = home
    }

    /// Returns a finding for each tool that asks this program for tokens.
    ///
    /// - Throws: `CancellationError`.
    func findings() async throws -> [Finding] {
        var findings: [Finding] = []
        for tool in IntegratedTool.all {
            let integration = tool.integration(in: home)
            let uses = try await DoctorCommand.outcome { try await integration.uses() }
            switch uses {
            case .success(let uses) where uses.isEmpty: continue
            case .failure(is CommandFailure): continue  // the tool is not installed
            case .success(let uses): findings.append(try await finding(tool, integration.link, uses))
            case .failure(let error):
                findings.append(.lack(tool.name, "its configuration cannot be read", error))
            }
        }
        return findings
    }

    private func finding(
        _ tool: IntegratedTool,
        _ link: HelperLink?,
        _ uses: [IntegrationUse]
    ) async throws -> Finding {
        var problem: (advice: String, status: ExitStatus)?
        var (found, profiles) = ([String](), [String]())
        let isLinked = link?.isFound ?? true
        for use in try uses.flatMap(eachAddress) {
            let profile: ProfileName?
            let end: (advice: String, status: ExitStatus)?
            switch try await DoctorCommand.outcome({ try await account(of: use) }) {
            case .success(let account):
                (profile, end) = (account?.profile, nil)
                found.append("\(use.text)\(account.map { " (\($0.text))" } ?? "")")
            case .failure(let error):
                let cause =
                    (error as? ProfileFailure)?.cause ?? (error as? ProfileIsGone)?.advice(setup(tool, use, of: nil))
                    ?? error
                profile = (error as? ProfileFailure)?.profile
                let options = SharedOptions()
                // A profile that the setting names gives its own token, whatever the address is.
                let named = profile.map { options.replacing("--profile", with: $0.text) }
                let known = named ?? use.resource.map { options.replacing("--resource", with: $0) }
                let lack = Finding.lack(tool.name, "", cause, signingInWith: known ?? options)
                end = (lack.advice ?? "", lack.status)
                found.append("\(use.text) (no token)")
            }
            if let name = profile?.text, !profiles.contains(name) { profiles.append(name) }
            let hidden = isLinked ? nil : link?.obstacle
            let obstacle = isLinked ? use.obstacle : "The helper is gone."
            let remedy =
                use.project == nil ? "Run: \(setup(tool, use, of: profile))" : "Correct the command of that entry."
            let gone = obstacle.map { "\($0) \(remedy)" }
            problem = problem ?? (hidden ?? gone ?? use.problem).map { ($0, ExitStatus.other) } ?? end
        }
        let text = found.joined(separator: ", ") + (isLinked ? "" : "; \(link?.name ?? "") is not found")
        var finding: Finding = problem.map { .lack(tool.name, text, $0.advice, $0.status) } ?? .ok(tool.name, text)
        finding.profiles = profiles
        return finding
    }

    /// Returns the command that sets a tool up again as a use of it has it.
    private func setup(_ tool: IntegratedTool, _ use: IntegrationUse, of found: ProfileName?) -> String {
        let isServer = tool.asks == .servers
        let usual = try? ProfileDirectory(session.environment).usualName()
        let profile = use.profile ?? (isServer || found == usual ? nil : found?.text)
        let server =
            isServer && use.options.isEmpty ? ["--resource", use.resource ?? "", "--name", use.label] : use.options
        let account = use.account.map { ["--account", $0] } ?? []
        let words = ["identityctl", "integrate", tool.name]
        return Home.line(words + server + (profile.map { ["--profile", $0] } ?? []) + account)
    }

    /// Returns a use for each address that a profile serves, if the setting is for all.
    private func eachAddress(_ use: IntegrationUse) throws -> [IntegrationUse] {
        guard use.isForAll, session.route.agent == nil else { return [use] }
        let directory = try ProfileDirectory(session.environment)
        let isHost = ServedAddress(use.label) != nil
        var uses: [IntegrationUse] = []
        for name in try directory.names() {
            do {
                let reach = TokenReach(of: try directory.profile(named: name))
                uses += try reach.served().map { IntegrationUse(label: $0.text) }
                    .filter { !isHost || "\($0.label):".hasPrefix("\(use.label):") }
            } catch {
                session.console.line("Warning: \(error)")
            }
        }
        guard uses.isEmpty, !isHost else { return uses.isEmpty ? [use] : uses }
        return [IntegrationUse(label: use.label, problem: "No profile serves an address. Add a line 'serves' to one.")]
    }

    /// Returns a profile and the accounts whose tokens are given, or `nil` if that is not known here.
    private func account(of use: IntegrationUse) async throws -> (profile: ProfileName?, text: String)? {
        guard session.route.agent == nil else { return (nil, "by the agent") }
        let environment = session.environment.replacing(Variables.variable(for: "account"), with: use.account)
        let directory = try ProfileDirectory(environment)
        if let name = use.profile {
            let name = try ProfileName(Given(text: name, origin: use.label))
            guard try directory.names().contains(name) else { throw ProfileIsGone(name: name) }
            let profile = try directory.profile(named: name)
            return (profile.name, try await account(environment.above(profile)))
        }
        if let resource = use.resource, let known = try KnownResources(environment).profile(for: resource) {
            return (nil, try await account(environment.above(known)))
        }
        let named = use.resource.flatMap(ServedAddress.init(asked:)) ?? ServedAddress(use.label)
        let addresses = [named].compactMap(\.self) + use.others
        for address in addresses {
            // Several profiles can serve an address, each under its username.
            let serving = try directory.profiles(serving: address) { session.console.line("Warning: \($0)") }
            let usernames = serving.count > 1 ? serving.map { $0.given("username")?.text } : [nil]
            var found: [String] = []
            for username in usernames {
                guard let source = try HelperCall(.git, ["get"]).source(for: address, of: username, in: session) else {
                    continue
                }
                found.append(try await account(source.route.variables))
            }
            if !found.isEmpty { return (serving.first?.name, found.joined(separator: "; ")) }
        }
        if let resource = use.resource {
            throw AuthenticationError.unknownResource(Given(text: resource, origin: use.label))
        }
        guard let address = addresses.first else { return nil }
        throw UsageError("No profile serves \(address.text).")
    }

    private func account(_ environment: Variables) async throws -> String {
        do {
            let client = ClientExamination(
                options: try ProviderOptions.ungiven,
                environment: environment,
                session: session
            )
            let account = try await client.account()
            let note = try await client.checkRenewal(of: account)
            return [environment.profile?.name.text, account.shortLabel, note].compactMap(\.self).joined(separator: ", ")
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            throw ProfileFailure(cause: error, profile: environment.profile?.name)
        }
    }
}

/// A tool's setting names a profile that there is no more.
private struct ProfileIsGone: Error {
    let name: ProfileName

    /// - Parameter setup: The command that set the tool up.
    func advice(_ setup: String) -> UsageError {
        UsageError(
            "There is no profile '\(name)' any more. Make it again (identityctl profile add \(name)), or run: \(setup) --undo"
        )
    }
}

/// An error of a sign-in, and the profile that it is of, if it is of one.
private struct ProfileFailure: Error {
    let cause: any Error
    let profile: ProfileName?
}
