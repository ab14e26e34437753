// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import DesktopKit
import IdentityClient

extension QuickStartWindow {
    /// Adds the actions of the buttons, the menu and the keys.
    func addActions() {
        application.addAction("call", keys: ["<Control>g", "F5"], title: tr("Call Microsoft Graph")) { [weak self] in
            self?.callGraph()
        }
        application.addAction("sign-out", keys: ["<Control><Shift>o"], title: tr("Sign Out")) { [weak self] in
            self?.signOut()
        }
        application.addAction("device", keys: ["<Control>i"], title: tr("Device Info")) { [weak self] in
            self?.showDevice()
        }
        application.addAction("clear", keys: ["<Control>l"], title: tr("Clear the Log")) { [weak self] in
            self?.logView.clear()
        }
        application.addAction("cancel", keys: ["Escape"], title: tr("Cancel")) { [weak self] in
            self?.cancel()
        }
        application.setAction("cancel", isEnabled: false)  // Escape closes menus, too
        application.addClosing(window, summary: tr("Signs in, calls Microsoft Graph, signs out."))
    }

    /// Calls Graph, after a sign-in if one is needed.
    func callGraph(asAnother: Bool = false) {
        guard let session = program?.session else { return }
        errors.hide()
        activity.start { [weak self, signInBar] in
            try await session.callGraph(asAnother: asAnother) { parameters in
                self?.news.willSignIn()
                let result = try await signInBar.signIn(with: session.application, parameters)
                self?.signedIn(result.account)
                return result
            }
        } then: { [weak self] outcome in
            self?.called(outcome)
        }
    }

    /// Says who has signed in, whatever becomes of the call.
    private func signedIn(_ account: Account) {
        for line in news.didSignIn(account) { note(line) }
        note(tr("{0} has signed in.", account.label))
        show(account)
    }

    private func called(_ outcome: Result<GraphAnswer, any Error>) {
        for line in news.didSignIn(nil) { note(line) }
        switch outcome {
        case .success(let answer):
            show(answer.account)
            note(answer.sourceText)
            note(tr("Microsoft Graph answered with status {0}:", "\(answer.status)"))
            logView.append(answer.text)
        case .failure(let error):
            guard let problem = Problem(error) else { return note(tr("The sign-in was cancelled.")) }
            switch (error as? AuthenticationError)?.code {
            case .accountSelectionRequired?: askWho()
            case .adminConsentRequired?:
                log(problem.full)
                errors.show(problem, title: tr("_Ask an Administrator")) { [weak self] in
                    self?.askAdministrator()
                }
            default: report(problem) { [weak self] in self?.callGraph() }
            }
        }
    }

    /// Opens the page for administrator consent, and calls Graph if the administrator consents.
    private func askAdministrator() {
        guard let session = program?.session else { return }
        errors.hide()
        activity.start { [weak self, signInBar] in
            try await signInBar.askAdministrator(with: session.application, scopes: session.scopes) { address in
                self?.note(tr("An administrator on another computer can open this address: {0}", address))
            }
        } then: { [weak self] outcome in
            switch outcome {
            case .success(let organization):
                self?.note(tr("An administrator of the organization {0} has allowed it.", organization))
                self?.callGraph()
            case .failure(let error): self?.failed(error) { [weak self] in self?.askAdministrator() }
            }
        }
    }

    /// Signs out on this computer.
    func signOut() {
        guard let session = program?.session, let account = current else { return }
        errors.hide()
        cancel()
        news.willSignOut(account)
        activity.start {
            (try await session.signOut(account), try await session.accounts())
        } then: { [weak self] outcome in
            guard let self else { return }
            switch outcome {
            case .success((let result, let accounts)):
                show(accounts)
                note(tr("{0} was signed out on this computer.", account.label))
                if let line = Self.line(for: result.browserSession) { note(line) }
            case .failure(let error):
                if let problem = Problem(error) { report(problem) { [weak self] in self?.signOut() } }
            }
        }
    }

    /// Returns the log line about the browser's session, which ends only on a shared computer.
    static func line(for outcome: SignOutResult.Outcome) -> String? {
        switch outcome {
        case .notRequested, .notNeeded: nil
        case .succeeded: tr("The browser was signed out as well.")
        case .unconfirmed: tr("The computer is shared: finish signing out in the browser.")
        case .unavailable: tr("The computer is shared, and the provider has no page to sign out at: close the browser.")
        case .failed(let error): tr("The computer is shared: close the browser. {0}", Problem(error)?.text ?? "")
        @unknown default: tr("The computer is shared: finish signing out in the browser.")
        }
    }

    /// Shows this computer's means for signing in.
    func showDevice() {
        guard let program else { return }
        errors.hide()
        inspection.start { [choices] in
            let clientID = program.cloud.registration.clientID
            return try await DeviceInfo.found(cache: program.cache, clientID: clientID, choices)
        } then: { [weak self] outcome in
            switch outcome {
            case .success(let info): self?.note(info.lines.joined(separator: "\n          "))
            case .failure(let error):
                if let problem = Problem(error) { self?.report(problem) }
            }
        }
    }

    /// Cancels the current work, and says so.
    func cancel() {
        guard activity.isRunning else { return }
        activity.cancel()
        for line in news.didSignIn(nil) { note(line) }
        note(tr("Cancelled."))
    }
}
