// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import DesktopKit
import Foundation
import IdentityClient

/// The window: who is signed in, three buttons, and what happened.
@MainContext
final class QuickStartWindow {
    enum Page: String { case starting, ready, failed }

    let window: Window
    let application: Application
    let choices: Choices
    let stack = Stack<Page>()
    let failure: StatusPage
    let spinner = Spinner()
    let avatar = Avatar("", size: 48)
    let name = Label().onOneLine().styled("heading")
    let username = Label().onOneLine().styled("dim-label")
    let errors = ErrorBar()
    let log = LogView(name: tr("What happened"))
    private(set) lazy var signInBar = SignInBar { [weak self] in self?.cancel() }
    private(set) lazy var activity = Activity { [weak self] in self?.spinner.isSpinning = $0 }
    private var start: Task<Void, Never>?

    var program: Program?
    var current: Account?
    var news = AccountNews()

    /// What exists once the cloud is there.
    struct Program {
        let cloud: Cloud
        let cache: any TokenCache
        let session: Session
    }

    init(_ application: Application, _ choices: Choices) {
        self.application = application
        self.choices = choices
        window = Window(application, title: tr("Quick Start"), width: 560, height: 640)
        failure = StatusPage(icon: "dialog-error-symbolic", title: tr("The program cannot start"))
        addActions()
        build()
        show(nil)
        window.onClose { [weak self] in await self?.close() }
        window.present()
        start = Task { @MainContext [weak self] in await self?.begin() }
    }

    /// Finds the cloud and whoever is signed in, then follows who comes and goes until the window is closed.
    private func begin() async {
        do {
            let cloud = try await Cloud.open(choices.program, else: nil, graphURL: choices.graphURL)
            let cache = choices.program.tokenCache(applicationName: tr("Quick Start"))
            let session = Session(
                application: try cloud.application(cache: cache),
                graphURL: cloud.graphURL,
                scopes: choices.scopes
            )
            program = Program(cloud: cloud, cache: cache, session: session)
            stack.show(.ready)
            if let url = cloud.standInURL {
                log.append(tr("The cloud is a stand-in on this machine: {0}", url.absoluteString))
            }
            try await follow(session)
        } catch {
            guard let problem = Problem(error) else { return }
            if program == nil {
                failure.show(
                    icon: "dialog-error-symbolic",
                    title: tr("The program cannot start"),
                    description: problem.full
                )
                stack.show(.failed)
            } else {
                report(problem)
            }
        }
    }

    private func follow(_ session: Session) async throws {
        let changes = try await session.application.accountChanges()
        show(try await session.account())
        note(current.map { tr("{0} is still signed in.", $0.label) } ?? tr("Nobody is signed in."))
        for await change in changes {
            if let line = news.line(for: change) { note(line) }
            show(try await session.account())
        }
    }

    /// Ends what is under way, a sign-in in the browser included, and lets refreshes finish, for a moment.
    private func close() async {
        activity.cancel()
        start?.cancel()
        await program?.session.application.finishPendingRefreshes(within: .seconds(3))
    }

    /// Shows who is signed in.
    func show(_ account: Account?) {
        current = account
        avatar.show(account?.displayName ?? account?.label ?? "")
        name.text = account.map { $0.displayName ?? $0.label } ?? tr("Nobody is signed in")
        username.text = account?.username ?? tr("Call Microsoft Graph to sign in.")
        application.setAction("sign-out", isEnabled: account != nil)
    }

    /// Adds a line with the time.
    func note(_ text: String) {
        let style = Date.VerbatimFormatStyle(
            format:
                "\(hour: .twoDigits(clock: .twentyFourHour, hourCycle: .zeroBased)):\(minute: .twoDigits):\(second: .twoDigits)",
            timeZone: .current,
            calendar: .current
        )
        log.append("\(Date().formatted(style))  \(text)")
    }

    /// Shows what went wrong, above the log and in it.
    func report(_ problem: Problem, retry: (@MainContext () -> Void)? = nil) {
        note(problem.full)
        errors.show(problem.text, retry: problem.canRetry ? retry : nil)
    }
}
