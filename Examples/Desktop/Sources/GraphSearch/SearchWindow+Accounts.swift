// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import DesktopKit
import IdentityClient

extension SearchWindow {
    /// Shows who is signed in; whoever searched until now goes on if they still are.
    func show(_ accounts: [Account]) {
        known = accounts
        var lines = accounts.map {
            MenuButton.Item.choice($0.username ?? $0.displayName ?? "?", "account", $0.id.rawValue)
        }
        lines.append(.action(tr("_Add an Account…"), "sign-in"))
        self.accounts.show([lines, [.action(tr("_Sign Out"), "sign-out")]])
        application.setAction("sign-out", isEnabled: !accounts.isEmpty)
        use(accounts.first { $0.id == current?.id } ?? accounts.first)
    }

    /// Searches for another account from now on.
    func use(_ account: Account?) {
        guard let account, let client, let cloud else {
            current = nil
            search?.cancel()
            search = nil
            return stack.show(.signIn)
        }
        stack.show(.search)
        application.setChoice("account", to: account.id.rawValue)
        guard account.id != current?.id else { return }
        current = account
        search?.cancel()
        let directory = GraphDirectory(client, account: account, scopes: choices.scopes, root: cloud.graphURL)
        let search = UserSearch(directory) { [weak self] in
            self?.spinner.isSpinning = $0
            self?.listStack.setBusy($0)
        } changed: { [weak self] in
            self?.show($0)
        }
        self.search = search
        search.search(field.text)
        field.focus()
    }

    /// Signs another person in, and searches for them.
    func signIn() {
        var parameters = InteractiveParameters(scopes: choices.scopes)
        parameters.prompt = .selectAccount
        signIn(parameters) { [weak self] account in
            guard let self else { return }
            if !known.contains(where: { $0.id == account.id }) { known.append(account) }
            use(account)
        }
    }

    /// Asks the person who searches to sign in once more, and goes on.
    func signInAgain(because error: AuthenticationError) {
        var parameters = InteractiveParameters(scopes: choices.scopes)
        parameters.account = current
        parameters.claims = error.claims
        signIn(parameters) { [weak self] _ in self?.search?.retry() }
    }

    private func signIn(_ parameters: InteractiveParameters, then finish: @escaping @MainContext (Account) -> Void) {
        guard let client else { return }
        errors.hide()
        signIns.start { [signInBar] in
            try await signInBar.signIn(with: client, parameters).account
        } then: { [weak self] outcome in
            switch outcome {
            case .success(let account): finish(account)
            case .failure(let error):
                guard let problem = Problem(error) else { return }
                self?.errors.show(problem.full) { [weak self] in self?.signIn(parameters, then: finish) }
            }
        }
    }

    /// Signs out whoever searches now, on this computer.
    func signOut() {
        guard let client, let account = current else { return }
        signIns.start {
            try await client.remove(account)
            return try await client.allAccounts()
        } then: { [weak self] outcome in
            switch outcome {
            case .success(let left): self?.show(left)
            case .failure(let error):
                if let problem = Problem(error) { self?.errors.show(problem.full) { [weak self] in self?.signOut() } }
            }
        }
    }
}
