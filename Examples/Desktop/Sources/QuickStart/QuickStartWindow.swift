// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import DesktopKit
import Foundation
import IdentityClient

/// The window with the current account, three buttons, and a log.
@MainContext
final class QuickStartWindow {
    enum Page: String { case starting, ready, choosing, failed }

    let window: Window
    let application: Application
    let choices: Choices
    let stack = Stack<Page>()
    let spinner = Spinner()
    let avatar = Avatar("", size: 48)
    let name = Label().styled("heading")
    let username = Label().styled("dim-label")
    let errors = ErrorBar()
    let people = ListBox(.boxed, name: tr("Accounts"))
    let logView = LogView(name: tr("Log"))
    private(set) lazy var failure = FailurePage(title: tr("The Program Cannot Start")) { [weak self] in
        self?.begin($0)
    }
    private(set) lazy var signInBar = SignInBar(choices.program.page) { [weak self] isShown in
        self?.application.setAction("cancel", isEnabled: isShown)
        self?.showSpinner()
    } cancel: { [weak self] in
        self?.cancel()
    }
    private(set) lazy var activity = Activity { [weak self] in
        self?.isBusy = $0
    } linger: { [weak self] in
        self?.signInBar.isWaiting = $0
    }
    /// The inspection of the computer, beside a sign-in that waits for the person.
    let inspection = Activity()
    private var isBusy = false { didSet { showSpinner() } }
    private var start: Task<Void, Never>?

    var program: Program?
    var current: Account?
    var news = AccountNews()

    /// The objects that need the cloud.
    struct Program {
        let cloud: Cloud
        let cache: any TokenCache
        let session: Session
    }

    init(_ application: Application, _ choices: Choices) {
        self.application = application
        self.choices = choices
        window = Window(application, title: tr("Quick Start"), width: 560, height: 640)
        addActions()
        build()
        show(nil)
        window.onClose { [weak self] in await self?.close() }
        window.present()
        begin(.quiet)
    }

    /// Starts or retries.
    func begin(_ use: CacheUse) {
        stack.show(.starting)
        start?.cancel()
        start = Task { @MainContext [weak self] in await self?.run(use) }
    }

    /// Finds the cloud and the current account, then follows changes of the accounts until the window is closed.
    private func run(_ use: CacheUse) async {
        do {
            let cloud = try await openedCloud()
            let name = tr("Quick Start")
            let cache = choices.program.tokenCache(
                applicationName: name,
                use,
                cloudEndsWithProgram: cloud.endsWithProgram
            )
            let session = Session(
                application: try cloud.application(cache: cache),
                graphURL: cloud.graphURL,
                scopes: choices.scopes,
                // Several people use a shared computer under the same user name. A page in a window leaves no session
                // behind.
                endsBrowserSession: choices.isSharedDevice && choices.program.page == .browser
            )
            program = Program(cloud: cloud, cache: cache, session: session)
            try await follow(session)
        } catch {
            guard let problem = Problem(error) else { return }
            failure.show(problem)
            stack.show(.failed)
        }
    }

    private func openedCloud() async throws -> Cloud {
        if let cloud = program?.cloud { return cloud }
        let cloud = try await Cloud.open(choices.program, else: nil, graphURL: choices.graphURL)
        if let url = cloud.standInURL {
            logView.append(tr("The cloud is a stand-in on this machine: {0}", url.absoluteString))
        }
        return cloud
    }

    private func follow(_ session: Session) async throws {
        let changes = try await session.application.accountChanges()
        let accounts = try await session.accounts()
        show(accounts)
        note(greeting(accounts))
        for await change in changes {
            if let line = news.line(for: change) { note(line) }
            show(try await session.accounts())
        }
    }

    private func greeting(_ accounts: Session.Accounts) -> String {
        guard case .known(let accounts) = accounts else { return tr("Several people are signed in.") }
        if let current = accounts.current { return tr("{0} is still signed in.", current.label) }
        if let previous = accounts.previous {
            return tr("No account is signed in. The last one was {0}.", previous.label)
        }
        return tr("No account is signed in.")
    }

    /// Cancels the current work, including a sign-in in the browser, and gives refreshes a moment to finish.
    private func close() async {
        activity.cancel()
        inspection.cancel()
        start?.cancel()
        await program?.session.application.finishBeforeClosing(within: .seconds(3))
    }

    /// The row about a sign-in has its own spinner.
    private func showSpinner() {
        spinner.isSpinning = isBusy && !signInBar.isShown
    }

    /// Shows the current account, or asks the person to choose one.
    func show(_ accounts: Session.Accounts) {
        switch accounts {
        case .known(let accounts): show(accounts.current)
        // A sign-in in progress will decide.
        case .choice(let accounts): if !activity.isRunning { askWho(among: accounts) }
        }
    }

    /// Shows the current account.
    func show(_ account: Account?) {
        stack.show(.ready)
        current = account
        avatar.show(account?.displayName ?? account?.label ?? "")
        name.text = account.map { $0.displayName ?? $0.label } ?? tr("No account is signed in")
        username.text = account?.username ?? tr("Call Microsoft Graph to sign in.")
        application.setAction("sign-out", isEnabled: account != nil)
    }

    /// Adds a line to the log, and has a screen reader say it.
    func note(_ text: String) {
        log(text)
        window.announce(text)
    }

    /// Adds a line with the time to the log.
    func log(_ text: String) {
        let style = Date.VerbatimFormatStyle(
            format:
                "\(hour: .twoDigits(clock: .twentyFourHour, hourCycle: .zeroBased)):\(minute: .twoDigits):\(second: .twoDigits)",
            timeZone: .current,
            calendar: .current
        )
        logView.append("\(Date().formatted(style))  \(text)")
    }

    /// Shows a problem, above the log and in it.
    func report(_ problem: Problem, retry: (@MainContext () -> Void)? = nil) {
        log(problem.full)
        errors.show(problem, action: retry)
    }
}
