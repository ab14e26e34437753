// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import DesktopKit
import IdentityClient
import TodoListModel

extension TodoWindow {
    /// Adds the actions of the buttons, the menu and the keys.
    func addActions() {
        application.addAction("new-task", keys: ["<Control>n"], title: tr("New Task")) { [weak self] in
            self?.list.focusEntry()
        }
        application.addAction("refresh", keys: ["F5", "<Control>r"], title: tr("Refresh")) { [weak self] in
            self?.refresh(.asking)
        }
        application.addAction("undo", keys: ["<Control>z"], title: tr("Undo the Removal")) { [weak self] in
            self?.undoRemoval()
        }
        application.addAction("sign-in") { [weak self] in self?.signIn() }
        application.addAction("edit-profile", keys: ["<Control>e"], title: tr("Edit the Profile")) { [weak self] in
            self?.editProfile()
        }
        application.addAction("sign-out", keys: ["<Control><Shift>o"], title: tr("Sign Out")) { [weak self] in
            self?.signOut()
        }
        application.addAction("cancel", keys: ["Escape"], title: tr("Cancel")) { [weak self] in
            self?.cancel()
        }
        application.setAction("cancel", isEnabled: false)  // Escape closes menus, too
        application.addClosing(window, summary: tr("A to-do list for each person, on Azure AD B2C."))
    }

    /// Signs a person in, after a password reset if they forgot the password.
    func signIn() {
        guard let session else { return }
        inBrowser { visit in try await session.signIn(visit: visit) }
    }

    private func editProfile() {
        guard let session, let account = state.account else { return }
        inBrowser { visit in try await session.editProfile(of: account, visit: visit) }
    }

    private func inBrowser(
        _ work: @escaping @Sendable (@escaping TodoSession.Visit) async throws -> Account
    ) {
        state.visit(.signingIn)
        render()
        let visit: TodoSession.Visit = { [weak self, signInBar] application, parameters, step in
            await self?.tell(step)
            return try await signInBar.signIn(with: application, parameters)
        }
        activity.start {
            try await work(visit)
        } then: { [weak self] outcome in
            guard let self else { return }
            switch outcome {
            case .success(let account): show(account)
            case .failure(let error): leaveBrowser(error)
            }
        }
    }

    /// Returns to the previous page. A list that was still loading is fetched again.
    private func leaveBrowser(_ error: any Error) {
        fail(error)
        if state.page == .loading { load() }
    }

    private func tell(_ step: TodoSession.Step) {
        state.visit(step)
        render()
    }

    /// Cancels the step for which the browser was opened, or else whatever waits for an answer.
    func cancel() {
        activity.cancel()
        guard state.page != .inBrowser else { return leaveBrowser(CancellationError()) }
        newList.cancel()
        let undone = changes.values
        cancelChanges()
        for change in undone { change.undo() }
        state.cancelled()
        render()
    }

    private func signOut() {
        guard let session, let account = state.account else { return }
        activity.start {
            try await session.signOut(account)
        } then: { [weak self] outcome in
            guard let self else { return }
            switch outcome {
            case .success: show(nil)
            case .failure(let error): fail(error)
            }
        }
    }

    /// Fetches the list again, or starts again.
    func refresh(_ use: CacheUse) {
        state.retry()
        render()
        guard service == nil || use == .memory else { return load() }
        begin(use)
    }

    /// Fetches the list.
    func load() {
        guard let service else { return }
        activity.start {
            try await service.tasks()
        } then: { [weak self] outcome in
            guard let self else { return }
            switch outcome {
            case .success(let tasks):
                state.show(tasks, of: service.account.id)
                render()
                list.focusEntry()
            case .failure(let error): fail(error)
            }
        }
    }

    /// Adds a task and then fetches the list with it. If that fails, the text returns to the field.
    func add(_ text: String) {
        change {
            try await $0.add(text)
        } then: { window, _, _ in
            window.fetchNewList()
            window.window.announce(tr("“{0}” was added.", text))
        } orElse: { [weak self] in
            self?.list.restore(text)
        }
    }

    /// Marks a task as done or not done.
    func setDone(_ isDone: Bool, _ task: TodoTask) {
        change {
            try await $0.setDone(isDone, task)
        } then: {
            $0.state.show($1, of: $2)
        }
    }

    /// Removes a task, and offers to undo that.
    func remove(_ task: TodoTask) {
        change {
            try await $0.remove(task)
        } then: { window, _, id in
            window.state.remove(task, of: id)
            window.removed = task
            let text = tr("“{0}” was removed.", task.text)
            window.window.announce("\(text) \(tr("Ctrl+Z brings it back."))")
        }
    }

    /// Restores the task that was removed last.
    private func undoRemoval() {
        guard let task = removed else { return }
        removed = nil
        change {
            try await $0.restore(task)
        } then: { window, _, _ in
            window.fetchNewList()
            window.window.announce(tr("“{0}” is back.", task.text))
        } orElse: { [weak self] in
            self?.removed = task
        }
    }

    private func change<Value: Sendable>(
        _ work: @escaping @Sendable (TodoService) async throws -> Value,
        then finish: @escaping @MainContext (TodoWindow, Value, Account.ID) -> Void,
        orElse undo: @escaping @MainContext () -> Void = {}
    ) {
        guard let service else { return }
        lastChange += 1
        let number = lastChange
        let activity = makeActivity(number)
        changes[number] = Change(activity: activity, undo: undo)
        activity.start {
            try await work(service)
        } then: { [weak self] outcome in
            guard let self else { return }
            changes[number] = nil
            switch outcome {
            case .success(let value):
                finish(self, value, service.account.id)
                render()
            case .failure(let error):
                undo()
                fail(error)
            }
        }
    }

    private func fetchNewList() {
        guard let service else { return }
        newList.start {
            try await service.tasks()
        } then: { [weak self] outcome in
            guard let self else { return }
            switch outcome {
            case .success(let tasks):
                state.show(tasks, of: service.account.id)
                render()
            case .failure(let error):
                // A person who is in the browser by now stays there.
                if state.page != .inBrowser { fail(error) }
            }
        }
    }

    private func fail(_ error: any Error) {
        state.failed(error)
        render()
    }
}
