// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import DesktopKit
import IdentityClient
import TodoListModel

extension TodoWindow {
    /// Adds the widgets to the window.
    func build() {
        let header = HeaderBar()
        let title = Label(tr("To-Do List")).inHeader().styled("title")
        header.setTitle(Box.column(title, person).aligned(vertically: .center))
        let menu = MenuButton(icon: "open-menu-symbolic", hint: tr("Menu"), isPrimary: true)
        menu.show([
            [.action(tr("_Refresh"), "refresh")],
            [.action(tr("_Edit Profile"), "edit-profile"), .action(tr("Sign _Out"), "sign-out")],
            MenuButton.Item.closing,
        ])
        header.add(atEnd: menu)
        header.add(atEnd: spinner)

        let signIn = Button(tr("_Sign In"), action: "sign-in").styled("pill", "suggested-action")
        stack.add(.loading, StatusPage(icon: "content-loading-symbolic", title: tr("Loading…")))
        stack.add(
            .signedOut,
            StatusPage(
                icon: "avatar-default-symbolic",
                title: tr("No Account Is Signed In"),
                description: choices.program.page == .browser
                    ? tr("Sign in, or sign up, to see your tasks. A page opens in the browser.")
                    : tr("Sign in, or sign up, to see your tasks. A page opens in a window."),
                action: signIn.aligned(horizontally: .center)
            ),
            first: signIn
        )
        stack.add(.inBrowser, browserPage)
        let notice = Clamp(removal.widget.margin(horizontal: 12, vertical: 6))
        stack.add(.tasks, Box.column(notice, list.widget.expanding(vertically: true)))
        stack.add(.failed, failedPage.widget)
        let waiting = signInBar.widget.margin(horizontal: 18, vertical: 12)
        window.content = Box.column(header, errors, stack.expanding(vertically: true), waiting)
        list.onAdd = { [weak self] in self?.add($0) }
        list.onChange = { [weak self] in self?.setDone($1, $0) }
        list.onRemove = { [weak self] in self?.remove($0) }
    }

    /// Shows the whole state.
    func render() {
        person.text = state.account.map(Self.name) ?? ""
        person.isVisible = state.account != nil
        list.show(state.tasks)
        tellStep()
        let (isIdle, isSignedIn) = (state.page != .inBrowser, state.account != nil)
        application.setAction("sign-in", isEnabled: isIdle && !isSignedIn && session != nil)
        application.setAction("sign-out", isEnabled: isIdle && isSignedIn)
        application.setAction("edit-profile", isEnabled: isIdle && isSignedIn && session?.settings.editProfile != nil)
        application.setAction("refresh", isEnabled: isIdle && (isSignedIn || state.page == .failed))
        application.setAction("new-task", isEnabled: state.page == .tasks)
        application.setAction("undo", isEnabled: state.page == .tasks && removed != nil)
        stack.show(state.page)
        showError()
    }

    /// Returns the account's name as people see it.
    static func name(of account: Account) -> String {
        account.displayName ?? account.username ?? tr("an account without a name")
    }

    private func tellStep() {
        switch (state.step, choices.program.page) {
        case (.signingIn, .browser): tell(tr("Sign In in the Browser"))
        case (.signingIn, .embedded): tell(tr("Sign In in the Page's Window"))
        case (.resettingPassword, .browser):
            tell(
                tr("Reset the Password in the Browser"),
                tr("A page for it has opened. After that, you are signed in.")
            )
        case (.resettingPassword, .embedded):
            tell(
                tr("Reset the Password in the Page's Window"),
                tr("After that, you sign in with the new one.")
            )
        case (.editingProfile, .browser): tell(tr("Edit the Profile in the Browser"))
        case (.editingProfile, .embedded): tell(tr("Edit the Profile in the Page's Window"))
        }
    }

    private func tell(_ title: String, _ description: String = "") {
        browserPage.show(icon: "web-browser-symbolic", title: title, description: description)
    }

    private func showError() {
        let problem = state.error.flatMap(Self.problem)
        guard state.page != .failed else {
            failedPage.show(problem)
            return errors.hide()
        }
        guard let problem else { return errors.hide() }
        switch problem.remedy {
        case .signIn where state.account != nil: errors.show(problem) { [weak self] in self?.signIn() }
        case .retry where state.page == .tasks: errors.show(problem) { [weak self] in self?.refresh(.asking) }
        case .none, .retry, .signIn: errors.show(problem)
        }
    }

    private static func problem(_ error: any Error) -> Problem? {
        guard let error = error as? TodoServiceError else { return Problem(error) }
        return Problem(text: tr("The to-do service said no: {0}", error.description), remedy: .retry)
    }
}
