// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import DesktopKit
import IdentityClient
import StandIn
import TodoListModel

/// The window: one person's tasks, or a page that says why there are none.
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
    /// The list that follows a new task: a later one takes the place of one that is still on its way.
    private(set) lazy var newList = Activity()
    private var start: Task<Void, Never>?

    var state = TodoState()
    var session: TodoSession?
    var service: TodoService?
    /// Changes of tasks that are under way, one for each, so that none cancels another.
    var changes: [Int: Activity] = [:]
    var lastChange = 0
    /// How many of them have taken long.
    var slowChanges = 0 { didSet { showSpinner() } }
    private var isLoading = false { didSet { showSpinner() } }
    /// The stand-in that this program has started, kept so that it goes on.
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

    /// Starts, or tries again to: then the person is there to unlock the keyring.
    func begin(asksToUnlock: Bool) {
        start?.cancel()
        start = Task { @MainContext [weak self] in await self?.run(asksToUnlock: asksToUnlock) }
    }

    /// Finds the cloud and whoever is signed in, then follows who comes and goes until the window is closed.
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
        let page = choices.program.page
        let cache = choices.tokenCache(settings, asksToUnlock: asksToUnlock)
        let group = try choices.program.cacheGroup
        return try TodoSession(settings: settings, cache: cache) { configuration in
            configuration.cacheGroup = group ?? configuration.cacheGroup
            configuration.show(page)
        }
    }

    /// Shows whoever is signed in now, which another program of the group may have changed.
    private func look(_ session: TodoSession) async throws {
        let account = try await session.account()
        // What this window does itself, it also shows itself.
        guard state.page != .inBrowser, account?.id != state.account?.id || state.page == .loading else { return }
        show(account)
    }

    /// Shows somebody's tasks, or that nobody is signed in.
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

    /// Ends what is under way, a sign-in in the browser included, and lets refreshes finish, for a moment.
    private func close() async {
        activity.cancel()
        newList.cancel()
        changes = [:]
        start?.cancel()
        await session?.application.finishPendingRefreshes(within: .seconds(3))
    }

    private func showSpinner() {
        // The page about the browser has a spinner of its own.
        spinner.isSpinning = isLoading && state.page != .inBrowser || slowChanges > 0
    }
}
