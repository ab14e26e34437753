// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import DesktopKit
import IdentityClient
import IdentityTesting
import TestSupport
import Testing

@testable import GraphSearch

@Suite(.timeLimit(.minutes(1))) struct UserSearchTests {
    init() { MainLoop.start() }

    @Test @MainContext func searchesOnceForManyLetters() async throws {
        let setup = TestSetup(pages: [[.named("Alice")]])
        for text in ["a", "al", "ali"] { setup.search.type(text) }
        try await setup.clock.waitForSleepers(1)
        #expect(setup.directory.asked.isEmpty)
        setup.clock.advance(by: UserSearch.pause)
        await setup.until { $0.people.count == 1 }
        #expect(setup.directory.asked == ["ali"])
    }

    @Test @MainContext func readsPageAfterPageAndKnowsTheEnd() async throws {
        let setup = TestSetup(pages: [[.named("A"), .named("B")], [.named("C")]])
        setup.search.search("")
        await setup.until { $0.people.count == 2 }
        setup.search.readOn()
        setup.search.readOn()  // nothing is asked for twice
        await setup.until { $0.people.count == 3 }
        setup.search.readOn()
        await setup.until { if case .complete = $0.phase { true } else { false } }
        setup.search.readOn()
        #expect(setup.search.people.map(\.title) == ["A", "B", "C"])
        #expect(setup.directory.pagesAsked == 3)
    }

    @Test @MainContext func asksForTheFailedPageAgain() async throws {
        let setup = TestSetup(pages: [[.named("A")], [.named("B")]])
        setup.search.search("")
        await setup.until { $0.people.count == 1 }
        setup.directory.failure = AuthenticationError(.network, "Down.")
        setup.search.readOn()
        await setup.until { if case .failed = $0.phase { true } else { false } }
        #expect(setup.search.people.map(\.title) == ["A"])
        setup.directory.failure = nil
        setup.search.retry()
        await setup.until { $0.people.count == 2 }
        #expect(setup.search.people.map(\.title) == ["A", "B"])
    }

    @Test @MainContext func startsAgainAfterAFailedFirstPage() async throws {
        let setup = TestSetup(pages: [[.named("A")]])
        setup.directory.failure = AuthenticationError(.network, "Down.")
        setup.search.search("a")
        await setup.until { if case .failed = $0.phase { true } else { false } }
        setup.directory.failure = nil
        setup.search.retry()
        await setup.until { $0.people.count == 1 }
        #expect(setup.directory.asked == ["a", "a"])
    }

    @Test @MainContext func keepsThePeopleWhileANewSearchFails() async throws {
        let setup = TestSetup(pages: [[.named("A")]])
        setup.search.search("a")
        await setup.until { $0.people.count == 1 }
        setup.directory.failure = AuthenticationError(.serverUnavailable, "Broken.")
        setup.search.search("b")
        await setup.until { if case .failed = $0.phase { true } else { false } }
        #expect(setup.search.people.map(\.title) == ["A"])
        setup.directory.failure = nil
        setup.directory.pages = [[.named("B")]]
        setup.search.retry()
        await setup.until { $0.people.map(\.title) == ["B"] }
        #expect(setup.directory.asked == ["a", "b", "b"])
    }

    @Test @MainContext func keepsThePeopleWhenTheSearchIsCancelled() async throws {
        let setup = TestSetup(pages: [[.named("A")]])
        setup.search.search("a")
        await setup.until { $0.people.count == 1 }
        setup.search.type("b")
        setup.search.cancel()
        #expect(setup.search.people.map(\.title) == ["A"])
        if case .idle = setup.search.phase {} else { Issue.record("a search is under way") }
        setup.search.search("b")
        await setup.directory.untilAsked("b")
    }

    @Test @MainContext func aLateAnswerToAnOldQuestionIsNotShown() async throws {
        let setup = TestSetup(pages: [[.named("Old")]])
        let (gate, opening) = AsyncStream<Void>.makeStream()
        setup.directory.gate = gate
        setup.search.search("old")
        await setup.directory.untilAsked("old")
        setup.directory.gate = nil
        setup.directory.pages = [[.named("New")]]
        setup.search.search("new")
        await setup.until { $0.people.map(\.title) == ["New"] }
        opening.finish()
        await setup.directory.untilAnswered(2)
        #expect(setup.search.people.map(\.title) == ["New"])
        #expect(setup.search.query.prefix == "new")
    }

    @Test @MainContext func theSameTextIsNotSearchedForTwice() async throws {
        let setup = TestSetup(pages: [[.named("A")]])
        setup.search.search("a")
        await setup.until { $0.people.count == 1 }
        setup.search.type(" a ")
        #expect(setup.directory.asked == ["a"])
        if case .paused = setup.search.phase {} else { Issue.record("a search is under way") }
    }
}

extension Person {
    static func named(_ name: String) -> Person { Person(id: name, displayName: name) }
}

/// A search with a directory and a clock that the test controls.
@MainContext
private final class TestSetup {
    let directory: ScriptedDirectory
    let clock = ManualClock()
    private(set) lazy var search = UserSearch(directory, clock: clock, activity: Activity()) { [weak self] _ in
        self?.changes.tell()
    }
    private let changes = News()

    init(pages: [[Person]]) {
        directory = ScriptedDirectory(pages)
    }

    func until(_ condition: (UserSearch) -> Bool) async {
        while !condition(search) { await changes.next() }
    }
}

/// Wakes the tasks that wait for an event.
@MainContext
private final class News {
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func tell() {
        let woken = waiting
        waiting = []
        for continuation in woken { continuation.resume() }
    }

    func next() async { await withCheckedContinuation { waiting.append($0) } }
}

private final class ScriptedDirectory: Directory {
    var pages: [[Person]]
    var failure: (any Error)?
    var gate: AsyncStream<Void>?
    private(set) var asked: [String] = []
    private(set) var pagesAsked = 0
    private var pagesAnswered = 0
    private let news = News()

    init(_ pages: [[Person]]) { self.pages = pages }

    func people(_ query: UserQuery) throws -> any PeoplePages {
        asked.append(query.prefix)
        news.tell()
        return ScriptedPages(self, pages)
    }

    func untilAsked(_ text: String) async { while !asked.contains(text) { await news.next() } }

    func untilAnswered(_ count: Int) async { while pagesAnswered < count { await news.next() } }

    final class ScriptedPages: PeoplePages {
        private let directory: ScriptedDirectory
        private var left: [[Person]]

        init(_ directory: ScriptedDirectory, _ pages: [[Person]]) {
            self.directory = directory
            left = pages
        }

        func next() async throws -> [Person]? {
            directory.pagesAsked += 1
            // Answers late, even if no task waits any more.
            if let gate = directory.gate { await Task { for await _ in gate {} }.value }
            defer {
                directory.pagesAnswered += 1
                directory.news.tell()
            }
            if let failure = directory.failure { throw failure }
            return left.isEmpty ? nil : left.removeFirst()
        }
    }
}
