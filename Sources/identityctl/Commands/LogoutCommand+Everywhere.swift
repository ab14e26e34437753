// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import IdentityClient
import OAuthWire

extension LogoutCommand {
    /// Signs out the accounts of all profiles and of all known resources, revokes what can be revoked, and goes on after a failure.
    ///
    /// - Throws: `Ended` with the status of the first failure, which was told; `CancellationError`.
    func signOutEverywhere(_ session: Session) async throws {
        let directory = try ProfileDirectory(session.environment)
        var clients: [(label: String, lines: Result<Profile, any Error>)] = []
        for name in try directory.names() {
            clients.append(("profile '\(name)'", Result { try directory.profile(named: name) }))
        }
        for resource in try KnownResources(session.environment).all() {
            clients.append((resource.given("resource")?.text.printable ?? "", .success(resource)))
        }
        var reports: [JSONObject] = []
        var failure: ExitStatus?
        for (label, lines) in clients {
            do {
                session.use(try lines.get())
                let (made, status) = try await signOutAll(session)
                reports += made
                failure = failure ?? status
            } catch is CancellationError {
                throw CancellationError()
            } catch {
                session.console.line("Warning: \(label): its accounts stay signed in. \(PlainReport.sentence(error))")
                failure = failure ?? ExitStatus(for: error)
            }
        }
        session.use(nil)
        if session.isJSON { try session.result(reports.line + "\n") }
        if reports.isEmpty, failure == nil { session.console.line("No account is signed in.") }
        session.console.line(
            "Sign-ins under no profile, with options or variables alone, are not among these: identityctl logout --all with the "
                + "same options."
        )
        if let failure { throw Ended(status: failure) }
    }

    /// Signs out the accounts of the client that the lines name.
    ///
    /// - Returns: A report on each, and the status of the first that was not revoked.
    private func signOutAll(_ session: Session) async throws -> ([JSONObject], ExitStatus?) {
        let options = try ProviderOptions.ungiven
        var configuration = try options.configuration(
            session.environment,
            passPhrases: session.passPhrases,
            logger: session.logger
        )
        configuration.browser = signOutBrowser(try browser.command(session.environment), session.console)
        configuration.redirectReceiver = LoopbackRedirectReceiver(applicationName: "identityctl")
        if let pending = try? PendingSignIns(configuration) { _ = pending.removeAll() }  // they would sign in again
        let application = try session.application(configuration)
        var parameters = try signOutParameters(session.environment)
        parameters.revokesTokens = true
        var (reports, status) = ([JSONObject](), ExitStatus?.none)
        for account in try await session.listing({ try await application.allAccounts() }) {
            let result = try await signOut(account, parameters, application, session)
            session.signedOutOfProfile { $0.id == account.id.rawValue }
            reports.append(JSONReport.signOut(account, result))
            if let failure = result.failure { status = status ?? ExitStatus(for: failure) }
            if case .unavailable = result.revocation { status = status ?? .revocationUnavailable }
        }
        return (reports, status)
    }
}
