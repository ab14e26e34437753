// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import DesktopKit
import IdentityClient

/// The window. Its first page signs a person in; after that, the people are on the left, and one of them is on the
/// right.
@MainContext
final class SearchWindow {
    enum Page: String { case starting, failed, signIn, search }
    enum ListPage: String { case people, nothing, waiting }
    enum DetailsPage: String { case empty, person }

    let window: Window
    let application: Application
    let choices: Choices
    let stack = Stack<Page>()
    private(set) lazy var failure = FailurePage(title: tr("The Program Cannot Start")) { [weak self] in
        self?.begin($0)
    }
    let spinner = Spinner()
    let accountMenu = MenuButton(icon: "avatar-default-symbolic", hint: tr("Accounts"))
    let field = SearchField(hint: tr("Given name"))
    private(set) lazy var pageErrors = ErrorBar()
    private(set) lazy var listErrors = ErrorBar()
    let list = ListBox(.sidebar, name: tr("People"))
    let listStack = Stack<ListPage>()
    let nothing = StatusPage(icon: "system-search-symbolic", title: tr("No People Found"))
    let more = Spinner()
    let details = Stack<DetailsPage>()
    let personPage = PersonPage()
    private(set) lazy var scroll = ScrolledView(Box.column(list, more.margin(vertical: 12)))
    private(set) lazy var back = Button(icon: "go-previous-symbolic", hint: tr("Back")) { [weak self] in
        self?.leaflet.showList()
    }
    let listHeader = HeaderBar()
    let detailsHeader = HeaderBar()
    private(set) lazy var detailsMenu = primaryMenu()
    private(set) lazy var leaflet = Leaflet(list: searchPane, details: detailsPane)
    private(set) lazy var signInBar = SignInBar(choices.program.page) { [weak self] in
        self?.application.setAction("cancel", isEnabled: $0)
    } cancel: { [weak self] in
        self?.cancel()
    }
    let signIns = Activity()
    let signOuts = Activity()
    private(set) lazy var requests = Activity { [weak self] in
        self?.spinner.isSpinning = $0
        self?.listStack.setBusy($0)
    } linger: { [weak self] in
        self?.signInBar.isWaiting = $0
    }
    /// The name of the account that searches, beneath the title.
    let person = Label().inHeader().styled("subtitle")

    /// The error bar of the visible page.
    var errors: ErrorBar { current == nil ? pageErrors : listErrors }
    private var start: Task<Void, Never>?

    private var clouds: [Cloud] = []
    var accounts: SearchAccounts?
    var known: [StoredAccount] = []
    /// The lines of the account menu for the accounts, and for more of them.
    var lines: [MenuButton.Item] = []
    var current: StoredAccount?
    var search: UserSearch?
    /// Fetches the last search of an account that becomes current.
    let remembering = Activity()
    /// Stores the current search.
    let keeping = Activity()
    /// The stored search of the current account.
    var kept = ""

    init(_ application: Application, _ choices: Choices) {
        self.application = application
        self.choices = choices
        window = Window(application, title: tr("People"), width: 860, height: 620)
        addActions()
        build()
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

    /// Finds the cloud and the signed-in accounts, then follows changes of the accounts until the window is closed.
    private func run(_ use: CacheUse) async {
        do {
            try await openClouds()
            let cache = choices.program.tokenCache(
                applicationName: tr("People"),
                use,
                cloudEndsWithProgram: clouds.contains(where: \.endsWithProgram)
            )
            let sources = try zip(choices.sources, clouds).map { source, cloud in
                SearchAccounts.Source(
                    name: source.name,
                    configuration: try cloud.configuration(cache: cache),
                    graphURL: cloud.graphURL
                )
            }
            let accounts = try SearchAccounts(sources, scopes: choices.scopes)
            self.accounts = accounts
            current = nil
            try await accounts.follow { show($0) }
        } catch {
            guard let problem = Problem(error) else { return }
            failure.show(problem)
            stack.show(.failed)
        }
    }

    private func openClouds() async throws {
        for source in choices.sources.dropFirst(clouds.count) {
            let registration = source.settings.registration
            let graph = source.settings.graphURL
            clouds.append(try await Cloud.open(choices.program, else: registration, graphURL: graph))
        }
    }

    /// Cancels the current work, including a sign-in in the browser, and gives refreshes a moment to finish.
    private func close() async {
        signIns.cancel()
        signOuts.cancel()
        search?.cancel()
        start?.cancel()
        for application in accounts?.applications ?? [] {
            await application.finishBeforeClosing(within: .seconds(3))
        }
    }
}
