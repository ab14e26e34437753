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
    private(set) lazy var removal = NoticeBar(button: tr("_Undo"), action: "undo") { [weak self] in
        self?.removed = nil
        self?.render()
    }
    let person = Label().inHeader().styled("subtitle")
    let browserPage = StatusPage(icon: "web-browser-symbolic", title: "")
    private(set) lazy var failedPage = FailurePage(title: tr("Your Tasks Cannot Be Shown")) { [weak self] in
        self?.refresh($0)
    }
    let errors = ErrorBar()
    let spinner = Spinner()
    private(set) lazy var signInBar = SignInBar(choices.program.page) { [weak self] in
        self?.application.setAction("cancel", isEnabled: $0)
        self?.showSpinner()
    } cancel: { [weak self] in
        self?.cancel()
    }
    private(set) lazy var activity = makeActivity(0)
    /// Fetches the list after a new task was added. A later fetch replaces an earlier one that is still in progress.
    private(set) lazy var newList = makeActivity(-1)
    private var start: Task<Void, Never>?

    var state = TodoState()
    var session: TodoSession?
    var service: TodoService?
    /// The task that was removed last, and can be restored.
    var removed: TodoTask? {
        didSet { removal.show(removed.map { tr("“{0}” was removed.", $0.text) }) }
    }
    /// The changes in progress, one activity for each task, so that no change cancels another.
    var changes: [Int: Change] = [:]
    var lastChange = 0
    /// The numbers of the activities that have taken a moment.
    private var busy: Set<Int> = [] { didSet { showSpinner() } }
    /// The numbers of the activities that have taken so long that the person may want to cancel them.
    private var lingering: Set<Int> = [] { didSet { signInBar.isWaiting = !lingering.isEmpty } }
    /// The stand-in started by this program, kept so that it keeps running.
    private var standIn: StandIn?

    /// A change that the service has not confirmed yet.
    struct Change {
        let activity: Activity
        /// Restores what the person saw before.
        let undo: @MainContext () -> Void
    }

    init(_ application: Application, _ choices: Choices) {
        self.application = application
        self.choices = choices
        window = Window(application, title: tr("To-Do List"), width: 480, height: 620)
        addActions()
        build()
        render()
        window.onClose { [weak self] in await self?.close() }
        window.present()
        begin(.quiet)
    }

    /// Starts or retries.
    func begin(_ use: CacheUse) {
        start?.cancel()
        start = Task { @MainContext [weak self] in await self?.run(use) }
    }

    /// Finds the cloud and the signed-in account, then follows changes of the accounts until the window is closed.
    private func run(_ use: CacheUse) async {
        do {
            let session = try await makeSession(use)
            self.session = session
            let changes = try await session.application.accountChanges()
            try await look(session)
            for await _ in changes { try await look(session) }
        } catch {
            state.failed(error)
            render()
        }
    }

    private func makeSession(_ use: CacheUse) async throws -> TodoSession {
        let settings: TodoSettings
        switch choices.cloud {
        case .real(let real): settings = real
        case .standIn(let root): settings = try await TodoSettings(standIn: StandIn.Addresses(at: root))
        case .ownStandIn:
            let standIn = if let standIn { standIn } else { try await StandIn.start() }
            self.standIn = standIn
            settings = try TodoSettings(standIn: standIn.addresses)
        }
        let cache = choices.tokenCache(settings, use)
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
        announce(account)
        cancelChanges()
        newList.cancel()
        removed = nil
        service = account.map { TodoService(session: session, account: $0) }
        state.found(account)
        render()
        if account != nil { load() } else { activity.cancel() }
    }

    /// Has a screen reader say who has signed in or out.
    private func announce(_ account: Account?) {
        guard account?.id != state.account?.id else { return }
        if let account {
            let name = Self.name(of: account)
            let isFirst = state.page == .loading
            window.announce(isFirst ? tr("{0} is still signed in.", name) : tr("{0} has signed in.", name))
        } else if let left = state.account {
            window.announce(tr("{0} was signed out on this computer.", Self.name(of: left)))
        }
    }

    /// Cancels the current work, including a sign-in in the browser, and gives refreshes a moment to finish.
    private func close() async {
        activity.cancel()
        newList.cancel()
        cancelChanges()
        start?.cancel()
        await session?.application.finishBeforeClosing(within: .seconds(3))
    }

    /// Creates an activity that the window reports under a number of its own.
    func makeActivity(_ number: Int) -> Activity {
        Activity { [weak self] in
            if $0 { self?.busy.insert(number) } else { self?.busy.remove(number) }
        } linger: { [weak self] in
            if $0 { self?.lingering.insert(number) } else { self?.lingering.remove(number) }
        }
    }

    /// Cancels the changes in progress.
    func cancelChanges() {
        for change in changes.values { change.activity.cancel() }
        changes = [:]
    }

    private func showSpinner() {
        // The row about a sign-in has its own spinner.
        spinner.isSpinning = !busy.isEmpty && !signInBar.isShown
    }
}
