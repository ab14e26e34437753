// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import DesktopKit
import IdentityClient
import StandIn
import TodoListModel

/// The window with a person's tasks, or with a page that explains why there are none.
@MainContext
final class TodoWindow {
    let window: Window
    let application: Application
    let choices: Choices
    let stack = Stack<TodoState.Page>()
    let list = TaskList()
    let person = Label().onOneLine().styled("subtitle").aligned(horizontally: .center)
    let browserPage = StatusPage(icon: "web-browser-symbolic", title: "")
    let failedPage: StatusPage
    let errors = ErrorBar()
    let spinner = Spinner()
    private(set) lazy var signInBar = SignInBar(choices.program.page) { [weak self] in self?.cancel() }
    private(set) lazy var activity = Activity { [weak self] in self?.isLoading = $0 }
    /// Fetches the list after a new task was added. A later fetch replaces an earlier one that is still in progress.
    private(set) lazy var newList = Activity()
    private var start: Task<Void, Never>?

    var state = TodoState()
    var session: TodoSession?
    var service: TodoService?
    /// The changes in progress, one activity for each task, so that no change cancels another.
    var changes: [Int: Activity] = [:]
    var lastChange = 0
    /// The number of changes that have taken long.
    var slowChanges = 0 { didSet { showSpinner() } }
    private var isLoading = false { didSet { showSpinner() } }
    /// The stand-in started by this program, kept so that it keeps running.
    private var standIn: StandIn?

    init(_ application: Application, _ choices: Choices) {
        self.application = application
        self.choices = choices
        window = Window(application, title: tr("To-Do List"), width: 480, height: 620)
        failedPage = StatusPage(
            icon: "dialog-error-symbolic",
            title: tr("Your tasks cannot be shown"),
            action: Button(tr("_Try Again"), action: "refresh").styled("pill", "suggested-action")
                .aligned(horizontally: .center)
        )
        addActions()
        build()
        render()
        window.onClose { [weak self] in await self?.close() }
        window.present()
        begin(asksToUnlock: false)
    }

    /// Starts or retries. On a retry the person is present and can unlock the keyring.
    func begin(asksToUnlock: Bool) {
        start?.cancel()
        start = Task { @MainContext [weak self] in await self?.run(asksToUnlock: asksToUnlock) }
    }

    /// Finds the cloud and the signed-in account, then follows changes of the accounts until the window is closed.
    private func run(asksToUnlock: Bool) async {
        do {
            let session = try await makeSession(asksToUnlock: asksToUnlock)
            self.session = session
            let changes = try await session.application.accountChanges()
            try await look(session)
            for await _ in changes { try await look(session) }
        } catch {
            state.failed(error)
            render()
        }
    }

    private func makeSession(asksToUnlock: Bool) async throws -> TodoSession {
        let settings: TodoSettings
        switch choices.cloud {
        case .real(let real): settings = real
        case .standIn(let root): settings = try await TodoSettings(standIn: StandIn.Addresses(at: root))
        case .ownStandIn:
            let standIn = if let standIn { standIn } else { try await StandIn.start() }
            self.standIn = standIn
            settings = try TodoSettings(standIn: standIn.addresses)
        }
        let cache = choices.tokenCache(settings, asksToUnlock: asksToUnlock)
        return try TodoSession(settings: settings, cache: cache, choices.program.configure)
    }

    /// Shows the account that is signed in now. Another program of the group may have changed it.
    private func look(_ session: TodoSession) async throws {
        let account = try await session.account()
        // The window shows its own changes itself.
        guard state.page != .inBrowser, account?.id != state.account?.id || state.page == .loading else { return }
        show(account)
    }

    /// Shows an account's tasks, or that no account is signed in.
    func show(_ account: Account?) {
        guard let session else { return }
        changes = [:]
        slowChanges = 0
        newList.cancel()
        service = account.map { TodoService(session: session, account: $0) }
        state.found(account)
        render()
        if account != nil { load() } else { activity.cancel() }
    }

    /// Cancels the current work, including a sign-in in the browser, and gives refreshes a moment to finish.
    private func close() async {
        activity.cancel()
        newList.cancel()
        changes = [:]
        start?.cancel()
        await session?.application.finishBeforeClosing(within: .seconds(3))
    }

    private func showSpinner() {
        // The page about the browser has its own spinner.
        spinner.isSpinning = isLoading && state.page != .inBrowser || slowChanges > 0
    }
}
