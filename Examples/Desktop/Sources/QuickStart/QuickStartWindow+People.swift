// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import DesktopKit
import IdentityClient

extension QuickStartWindow {
    /// Finds out which accounts are signed in, and lets the person choose.
    func askWho() {
        guard let session = program?.session else { return }
        activity.start {
            try await session.accounts()
        } then: { [weak self] outcome in
            switch outcome {
            case .success(let accounts): self?.show(accounts)
            case .failure(let error): self?.failed(error) { [weak self] in self?.askWho() }
            }
        }
    }

    /// Lets the person choose one of several accounts, or sign in with another one.
    func askWho(among accounts: [Account]) {
        show(nil)
        people.removeAll()
        for account in accounts {
            let name = account.displayName ?? account.label
            let row = Row(
                title: name,
                subtitle: account.username ?? "",
                prefix: Avatar(name, size: 32),
                isActivatable: true
            )
            people.append(row.onActivation { [weak self] in self?.choose(account) })
        }
        let other = Row(title: tr("Another Account"), prefix: Avatar("", size: 32), isActivatable: true)
        people.append(
            other.onActivation { [weak self] in
                self?.stack.show(.ready)
                self?.callGraph(asAnother: true)
            }
        )
        stack.show(.choosing)
        people.focusWhenShown()
    }

    private func choose(_ account: Account) {
        guard let session = program?.session else { return }
        activity.start {
            try await session.choose(account)
            return try await session.accounts()
        } then: { [weak self] outcome in
            switch outcome {
            case .success(let accounts):
                self?.show(accounts)
                self?.note(tr("{0} was chosen.", account.label))
            case .failure(let error): self?.failed(error) { [weak self] in self?.choose(account) }
            }
        }
    }

    /// Shows that the person's last command failed.
    func failed(_ error: any Error, retry: @escaping @MainContext () -> Void) {
        guard let problem = Problem(error) else { return }
        stack.show(.ready)
        report(problem, retry: retry)
    }
}
