// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import DesktopKit
import IdentityClient
import IdentityResources

extension SearchWindow {
    /// Adds the actions of the menus and the keys.
    func addActions() {
        application.addChoice("account") { [weak self] id in
            guard let self, let account = known.first(where: { $0.key == id }) else { return }
            use(account)
        }
        application.addAction("search", keys: ["<Control>f"], title: tr("Go to the Search Field")) { [weak self] in
            self?.leaflet.showList()
            self?.field.focus()
        }
        application.addAction("refresh", keys: ["<Control>r", "F5"], title: tr("Search Again")) { [weak self] in
            guard let self else { return }
            errors.hide()
            search?.search(field.text)
        }
        application.addAction("accounts", keys: ["<Alt>a"], title: tr("Choose an Account")) { [weak self] in
            self?.accountMenu.open()
        }
        application.addAction("sign-in", keys: ["<Control>n"], title: tr("Add an Account")) { [weak self] in
            guard let self else { return }
            signIn(ofType: choices.sources[0].name)
        }
        for (index, source) in choices.sources.enumerated().dropFirst() {
            application.addAction(signInAction(index)) { [weak self] in self?.signIn(ofType: source.name) }
        }
        application.addAction("sign-out", keys: ["<Control><Shift>o"], title: tr("Sign Out")) { [weak self] in
            self?.signOut()
        }
        application.addAction("cancel", keys: ["Escape"], title: tr("Cancel")) { [weak self] in self?.cancel() }
        application.setAction("cancel", isEnabled: false)  // Escape closes menus, too
        application.addClosing(window, summary: tr("Searches the people of an organization."))
    }

    /// Shows the progress and the results of the search.
    func show(_ change: UserSearch.Change) {
        guard let search else { return }
        switch change {
        case .replaced:
            showNobody()
            add(search.people[...])
            list.unselect()
            keepSearch()
        case .added(let start): add(search.people[start...])
        case .phase: break
        }
        show(search.phase)
    }

    /// Removes the people of an earlier search, and the one with the details.
    func showNobody() {
        list.removeAll()
        details.show(.empty)
        if leaflet.isFolded { leaflet.showList() }
    }

    private func add(_ people: ArraySlice<Person>) {
        for person in people {
            let row = Row(
                title: person.title,
                subtitle: person.userPrincipalName ?? "",
                prefix: Avatar(person.title, size: 36),
                isActivatable: true
            )
            list.append(row)
        }
    }

    private func show(_ phase: UserSearch.Phase) {
        guard let search else { return }
        if case .readingOn = phase { more.isSpinning = true } else { more.isSpinning = false }
        switch phase {
        case .idle: listStack.show(search.people.isEmpty ? .waiting : .people)
        case .searching:
            errors.hide()
            if search.people.isEmpty { listStack.show(.waiting) }
        case .readingOn, .paused, .complete:
            showCount(search.people.count)
        case .failed(let error):
            listStack.show(search.people.isEmpty ? .waiting : .people)
            fail(error)
        }
        switch phase {
        // The first pages may not fill a tall window; a short one is the last, and after it nothing is requested.
        case .paused where scroll.isNearEnd || search.people.count < search.query.pageSize: search.readOn()
        case .paused: window.announce(tr("People found so far: {0}", "\(search.people.count)"))
        case .complete where search.people.isEmpty: window.announce(tr("No People Found"))
        case .complete: window.announce(tr("People found: {0}", "\(search.people.count)"))
        default: break
        }
    }

    private func showCount(_ count: Int) {
        if count == 0 {
            nothing.show(
                icon: "system-search-symbolic",
                title: tr("No People Found"),
                description: tr("No given name begins with “{0}”.", search?.query.prefix ?? "")
            )
        }
        listStack.show(count == 0 ? .nothing : .people)
    }

    private func fail(_ error: any Error) {
        if let error = error as? AuthenticationError, let problem = Problem(error), problem.remedy == .signIn {
            errors.show(problem) { [weak self] in self?.signInAgain(because: error) }
        } else if let problem = Self.problem(error) {
            errors.show(problem) { [weak self] in self?.search?.retry() }
        }
    }

    private static func problem(_ error: any Error) -> Problem? {
        guard let answer = error as? UnexpectedResponse else { return Problem(error) }
        return Problem(text: tr("Graph answered with status {0}.", "\(answer.response.status.code)"), remedy: .retry)
    }

    /// Shows one of the people on the right.
    func open(_ number: Int) {
        guard let people = search?.people, people.indices.contains(number) else { return }
        personPage.show(people[number])
        details.show(.person)
        if leaflet.isFolded { leaflet.showDetails() } else { window.announce(PersonPage.text(of: people[number])) }
    }
}
