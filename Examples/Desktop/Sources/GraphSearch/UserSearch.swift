// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import DesktopKit
import IdentityClient

/// A search while it is typed: waits until typing pauses, gives up what is out of date, and reads on page by page.
@MainContext
final class UserSearch {
    enum Phase: Sendable {
        /// Nothing was asked for yet.
        case idle
        /// The first page is under way.
        case searching
        /// A further page is under way.
        case readingOn
        /// There may be more pages.
        case paused
        /// That was the last page.
        case complete
        /// The last request failed; `retry()` sends it again.
        case failed(any Error)
    }

    enum Change {
        /// The people are others than before.
        case replaced
        /// There are more people, from this number on.
        case added(from: Int)
        /// Only the phase is another.
        case phase
    }

    /// How long typing pauses before a search begins.
    static let pause = Duration.milliseconds(250)

    private(set) var people: [Person] = []
    private(set) var phase = Phase.idle
    private(set) var query = UserQuery("")
    private let directory: any Directory
    private let clock: any WallClock
    private let activity: Activity
    private let changed: @MainContext (Change) -> Void
    private var pages: (any PeoplePages)?

    /// - Parameters:
    ///   - directory: Who is asked.
    ///   - clock: What the pause goes by.
    ///   - busy: Is told when it takes long, and when that is over.
    ///   - changed: Is told what to show.
    init(
        _ directory: any Directory,
        clock: any WallClock = SystemClock(),
        busy: @escaping @MainContext (Bool) -> Void,
        changed: @escaping @MainContext (Change) -> Void
    ) {
        self.directory = directory
        self.clock = clock
        self.changed = changed
        activity = Activity(busy)
    }

    /// Searches when typing has paused. The people found before stay until then.
    func type(_ text: String) {
        let query = UserQuery(text)
        guard query != self.query || pages == nil else { return }
        begin(query, after: Self.pause)
    }

    /// Searches at once.
    func search(_ text: String) {
        begin(UserQuery(text), after: .zero)
    }

    /// Reads the next page, if there may be one and nothing is under way.
    func readOn() {
        guard case .paused = phase, let pages else { return }
        setPhase(.readingOn)
        activity.start {
            try await pages.next()
        } then: { [weak self] in
            self?.received($0, isFirst: false)
        }
    }

    /// Sends again what has failed.
    func retry() {
        guard case .failed = phase else { return }
        if people.isEmpty || pages == nil { return begin(query, after: .zero) }
        setPhase(.paused)
        readOn()
    }

    /// Gives up what is under way.
    func cancel() {
        activity.cancel()
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
        case .failure(let error):
            if isFirst { people = [] }
            phase = .failed(error)
            changed(isFirst ? .replaced : .phase)
        }
    }

    private func setPhase(_ phase: Phase) {
        self.phase = phase
        changed(.phase)
    }
}
