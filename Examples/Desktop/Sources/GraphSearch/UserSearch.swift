// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import DesktopKit
import IdentityClient

/// A search as the person types. It waits until typing pauses, cancels outdated requests, and reads on page by page.
@MainContext
final class UserSearch {
    enum Phase: Sendable {
        /// No search has started yet, or the person has cancelled it.
        case idle
        /// The first page is loading.
        case searching
        /// A further page is loading.
        case readingOn
        /// There may be more pages.
        case paused
        /// The last page has arrived.
        case complete
        /// The last request failed; `retry()` sends it again.
        case failed(any Error)
    }

    enum Change {
        /// The list of people was replaced.
        case replaced
        /// People were added, from this index on.
        case added(from: Int)
        /// Only the phase changed.
        case phase
    }

    /// The pause in typing after which a search begins: 250 ms.
    static let pause = Duration.milliseconds(250)

    private(set) var people: [Person] = []
    private(set) var phase = Phase.idle
    private(set) var query = UserQuery("")
    private let directory: any Directory
    private let clock: any WallClock
    private let activity: Activity
    private let changed: @MainContext (Change) -> Void
    private var pages: (any PeoplePages)?

    /// Creates an idle search.
    ///
    /// - Parameters:
    ///   - directory: The directory to search.
    ///   - clock: The clock that measures the pause.
    ///   - activity: The requests, one at a time.
    ///   - changed: Called with each change to show.
    init(
        _ directory: any Directory,
        clock: any WallClock = SystemClock(),
        activity: Activity,
        changed: @escaping @MainContext (Change) -> Void
    ) {
        self.directory = directory
        self.clock = clock
        self.changed = changed
        self.activity = activity
    }

    /// Searches after typing has paused. The people found before stay until then.
    func type(_ text: String) {
        let query = UserQuery(text)
        guard query != self.query || pages == nil else { return }
        begin(query, after: Self.pause)
    }

    /// Searches at once.
    func search(_ text: String) {
        begin(UserQuery(text), after: .zero)
    }

    /// Reads the next page, if there may be one and no request is in progress.
    func readOn() {
        guard case .paused = phase, let pages else { return }
        setPhase(.readingOn)
        activity.start {
            try await pages.next()
        } then: { [weak self] in
            self?.received($0, isFirst: false)
        }
    }

    /// Sends the failed request again.
    func retry() {
        guard case .failed = phase else { return }
        if people.isEmpty || pages == nil { return begin(query, after: .zero) }
        setPhase(.paused)
        readOn()
    }

    /// Cancels the current request. The people found before stay.
    func cancel() {
        guard activity.isRunning else { return }
        activity.cancel()
        setPhase(.idle)
    }

    private func begin(_ query: UserQuery, after pause: Duration) {
        self.query = query
        pages = nil
        setPhase(.searching)
        activity.start { [directory, clock] in
            if pause > .zero { try await clock.sleep(for: pause) }
            let pages = try directory.people(query)
            let first = try await pages.next()
            return FirstPage(pages: pages, people: first)
        } then: { [weak self] outcome in
            if case .success(let first) = outcome { self?.pages = first.pages }
            self?.received(outcome.map(\.people), isFirst: true)
        }
    }

    private struct FirstPage: Sendable {
        let pages: any PeoplePages
        let people: [Person]?
    }

    private func received(_ outcome: Result<[Person]?, any Error>, isFirst: Bool) {
        switch outcome {
        case .success(let page?):
            let count = isFirst ? 0 : people.count
            people = isFirst ? page : people + page
            phase = .paused
            changed(isFirst ? .replaced : .added(from: count))
        case .success(nil):
            if isFirst { people = [] }
            phase = .complete
            changed(isFirst ? .replaced : .phase)
        case .failure(let error): setPhase(.failed(error))
        }
    }

    private func setPhase(_ phase: Phase) {
        self.phase = phase
        changed(.phase)
    }
}
