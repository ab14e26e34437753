// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import IdentityClient

/// The state of the window. Its methods compute the next state and never wait.
public struct TodoState: Sendable {
    /// The page that fills the window.
    public enum Page: String, Sendable {
        /// The program finds the account, or fetches the first list.
        case loading
        /// No account is signed in.
        case signedOut
        /// The person is in the browser.
        case inBrowser
        /// The person's tasks; the list may be empty.
        case tasks
        /// The first list could not be fetched, or the person cancelled that.
        case failed
    }

    /// The page that fills the window.
    public private(set) var page = Page.loading

    /// The signed-in account.
    public private(set) var account: Account?

    /// The person's tasks. Tasks that were done when the list arrived are last.
    public private(set) var tasks: [TodoTask] = []

    /// Whether a list of the person has arrived; an empty list counts.
    private var hasList = false

    /// The person's current step in the browser.
    public private(set) var step = TodoSession.Step.signingIn

    /// The last error; `nil` if there is none. The page ``Page/failed`` shows nothing else.
    public private(set) var error: (any Error)?

    /// Creates the initial state.
    public init() {}

    /// Records that the browser was opened.
    public mutating func visit(_ step: TodoSession.Step) {
        page = .inBrowser
        self.step = step
        error = nil
    }

    /// Records the signed-in account, whose list must now be fetched; `nil` means that no account is signed in.
    public mutating func found(_ account: Account?) {
        // The data of a person is never shown to another person.
        if account?.id != self.account?.id {
            tasks = []
            hasList = false
        }
        self.account = account
        page = home
        error = nil
    }

    /// Records the list that arrived. A list for an account that is no longer signed in is ignored.
    public mutating func show(_ tasks: [TodoTask], of id: Account.ID) {
        guard account?.id == id else { return }
        self.tasks = Self.sorted(tasks)
        hasList = true
        if page != .inBrowser { page = .tasks }
        error = nil
    }

    /// Records a changed task. The task stays in its place, where the person clicked; the next list sorts it.
    public mutating func show(_ task: TodoTask, of id: Account.ID) {
        guard account?.id == id, let index = tasks.firstIndex(where: { $0.id == task.id }) else { return }
        tasks[index] = task
        error = nil
    }

    /// Records that a task was removed.
    public mutating func remove(_ task: TodoTask, of id: Account.ID) {
        guard account?.id == id else { return }
        tasks.removeAll { $0.id == task.id }
        error = nil
    }

    /// Records that the first list is fetched again.
    public mutating func retry() {
        if page == .failed { page = .loading }
        error = nil
    }

    /// Records that the person no longer waits for a list. Visible content stays.
    public mutating func cancelled() {
        if page == .loading { page = account == nil ? .signedOut : .failed }
        error = nil
    }

    /// Records an error. Visible content stays.
    public mutating func failed(_ error: any Error) {
        let known = error as? AuthenticationError
        let isCancelled = error is CancellationError || known?.code == .interactionSuperseded
        switch page {
        case .inBrowser: page = home
        case .loading where known?.family == .interactionRequired:
            account = nil
            page = .signedOut
        case .loading where !isCancelled: page = .failed
        case .loading, .signedOut, .tasks, .failed: break
        }
        if !isCancelled { self.error = error }
    }

    /// The page of a person who is not in the browser.
    private var home: Page { account == nil ? .signedOut : hasList ? .tasks : .loading }

    private static func sorted(_ tasks: [TodoTask]) -> [TodoTask] {
        tasks.filter { !$0.isDone } + tasks.filter(\.isDone)
    }
}
