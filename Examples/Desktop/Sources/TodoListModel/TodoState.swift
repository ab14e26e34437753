// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import IdentityClient

/// What the window shows. Its methods say what follows from what; nothing here waits for anything.
public struct TodoState: Sendable {
    /// The page that fills the window.
    public enum Page: String, Sendable {
        /// Finding out who is signed in, or fetching the first list.
        case loading
        /// Nobody is signed in.
        case signedOut
        /// The person is in the browser.
        case inBrowser
        /// The tasks, which may be none.
        case tasks
        /// The first list could not be had.
        case failed
    }

    /// The page that fills the window.
    public private(set) var page = Page.loading

    /// Who is signed in.
    public private(set) var account: Account?

    /// The person's tasks; those that were done when the list came are the last.
    public private(set) var tasks: [TodoTask] = []

    /// Whether a list of the person's has come; an empty one is a list.
    private var hasList = false

    /// What the person is in the browser for.
    public private(set) var step = TodoSession.Step.signingIn

    /// What went wrong last; `nil` where nothing did. On the page ``Page/failed`` it is all there is to show.
    public private(set) var error: (any Error)?

    /// Nothing is known yet.
    public init() {}

    /// The browser was opened.
    public mutating func visit(_ step: TodoSession.Step) {
        page = .inBrowser
        self.step = step
        error = nil
    }

    /// Somebody is signed in, whose list is to be fetched; `nil`: nobody is.
    public mutating func found(_ account: Account?) {
        // Nothing of one person is ever shown to another.
        if account?.id != self.account?.id {
            tasks = []
            hasList = false
        }
        self.account = account
        page = home
        error = nil
    }

    /// The list arrived. An answer for somebody who is not signed in any more says nothing.
    public mutating func show(_ tasks: [TodoTask], of id: Account.ID) {
        guard account?.id == id else { return }
        self.tasks = Self.sorted(tasks)
        hasList = true
        if page != .inBrowser { page = .tasks }
        error = nil
    }

    /// A task is another than before. It stays where it is, under the hand that ticked it; the next list sorts it.
    public mutating func show(_ task: TodoTask, of id: Account.ID) {
        guard account?.id == id, let index = tasks.firstIndex(where: { $0.id == task.id }) else { return }
        tasks[index] = task
        error = nil
    }

    /// A task was removed.
    public mutating func remove(_ task: TodoTask, of id: Account.ID) {
        guard account?.id == id else { return }
        tasks.removeAll { $0.id == task.id }
        error = nil
    }

    /// The first list is fetched once more.
    public mutating func retry() {
        if page == .failed { page = .loading }
        error = nil
    }

    /// Something did not work. Nothing that is shown already goes away for it.
    public mutating func failed(_ error: any Error) {
        let isCancelled = error is CancellationError || .interactionSuperseded ~= error
        switch page {
        case .inBrowser: page = home
        case .loading where .interactionRequired ~= error:
            account = nil
            page = .signedOut
        case .loading where !isCancelled: page = .failed
        case .loading, .signedOut, .tasks, .failed: break
        }
        if !isCancelled { self.error = error }
    }

    /// Where somebody is who is not in the browser.
    private var home: Page { account == nil ? .signedOut : hasList ? .tasks : .loading }

    private static func sorted(_ tasks: [TodoTask]) -> [TodoTask] {
        tasks.filter { !$0.isDone } + tasks.filter(\.isDone)
    }
}
