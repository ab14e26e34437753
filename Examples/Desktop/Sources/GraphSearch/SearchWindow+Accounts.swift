// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import DesktopKit
import IdentityClient

extension SearchWindow {
    /// Shows the signed-in accounts. The current account stays current if it is still signed in.
    func show(_ accounts: [StoredAccount]) {
        known = accounts
        var lines = accounts.map {
            MenuButton.Item.choice(name(of: $0), "account", $0.key)
        }
        for (index, source) in choices.sources.enumerated() {
            lines.append(.action(text(tr("_Add an Account…"), source.name), signInAction(index)))
        }
        self.lines = lines
        application.setAction("sign-out", isEnabled: !accounts.isEmpty)
        use(accounts.first { $0.id == current?.id } ?? accounts.first)
    }

    /// Returns the account's name as people see it.
    func name(of account: StoredAccount) -> String {
        text(account.account.username ?? account.account.displayName ?? "?", account.type)
    }

    /// Returns a text that includes the type's name if there are several types.
    func text(_ text: String, _ type: AccountType.Name) -> String {
        choices.sources.count > 1 ? "\(text) (\(type))" : text
    }

    /// Returns the action that signs in with a type; the first action has a key.
    func signInAction(_ index: Int) -> String { index == 0 ? "sign-in" : "sign-in-\(index)" }

    /// Searches as another account from now on, starting with that account's last search.
    func use(_ account: StoredAccount?) {
        guard let account, let accounts, let directory = try? accounts.directory(for: account) else {
            current = nil
            remembering.cancel()
            search?.cancel()
            search = nil
            showNobody()
            return stack.show(.signIn)
        }
        stack.show(.search)
        application.setChoice("account", to: account.key)
        let name = MenuButton.Item.escaped(name(of: account))
        accountMenu.show([lines, [.action(tr("_Sign Out {0}", name), "sign-out")]])
        guard account.id != current?.id else { return }
        current = account
        search?.cancel()
        showNobody()
        person.text = account.account.username ?? account.account.displayName ?? ""
        let search = UserSearch(directory, activity: requests) { [weak self] in self?.show($0) }
        self.search = search
        remembering.start {
            await accounts.lastSearch(of: account)
        } then: { [weak self] outcome in
            guard let self, case .success(let text) = outcome else { return }
            kept = text
            field.text = text
            search.search(text)
            field.focusWhenShown()
        }
    }

    /// Stores the current search for the next time.
    func keepSearch() {
        guard let accounts, let current, let prefix = search?.query.prefix, prefix != kept else { return }
        kept = prefix
        keeping.start {
            try await accounts.keep(prefix, of: current)
        } then: { _ in
            // Ignored: the search itself has succeeded, only storing it failed.
        }
    }

    /// Signs in another person with a type of account, and searches as that person.
    func signIn(ofType type: AccountType.Name) {
        var parameters = InteractiveParameters(scopes: choices.scopes)
        parameters.prompt = .selectAccount
        signIn(parameters, ofType: type) { [weak self] account in
            guard let self else { return }
            if !known.contains(where: { $0.id == account.id }) { known.append(account) }
            use(account)
            window.announce(tr("{0} has signed in.", name(of: account)))
        }
    }

    /// Asks the current person to sign in again, and then continues.
    func signInAgain(because error: AuthenticationError) {
        guard let current else { return }
        var parameters = InteractiveParameters(scopes: choices.scopes)
        parameters.account = current.account
        parameters.claims = error.claims
        signIn(parameters, ofType: current.type) { [weak self] _ in self?.search?.retry() }
    }

    private func signIn(
        _ parameters: InteractiveParameters,
        ofType type: AccountType.Name,
        then finish: @escaping @MainContext (StoredAccount) -> Void
    ) {
        guard let accounts else { return }
        errors.hide()
        signIns.start { [signInBar] in
            let application = try accounts.store.application(ofType: type)
            let result = try await signInBar.signIn(with: application, parameters)
            return StoredAccount(type: type, account: result.account)
        } then: { [weak self] outcome in
            switch outcome {
            case .success(let account): finish(account)
            case .failure(let error):
                guard let problem = Problem(error) else { return }
                self?.errors.show(
                    problem,
                    action: { [weak self] in self?.signIn(parameters, ofType: type, then: finish) }
                )
            }
        }
    }

    /// Gives up the sign-in, or else the search, which takes long.
    func cancel() {
        if signIns.isRunning { signIns.cancel() } else { search?.cancel() }
    }

    /// Signs out the current person on this computer.
    func signOut() {
        guard let store = accounts?.store, let account = current else { return }
        signOuts.start {
            try await store.signOut(account)
            return try await store.accounts()
        } then: { [weak self] outcome in
            switch outcome {
            case .success(let left):
                guard let self else { return }
                show(left)
                window.announce(tr("{0} was signed out on this computer.", name(of: account)))
            case .failure(let error):
                if let problem = Problem(error) { self?.errors.show(problem) { [weak self] in self?.signOut() } }
            }
        }
    }
}

extension StoredAccount {
    /// The account's value in a menu's choice.
    var key: String { "\(type) \(account.id.rawValue)" }
}
