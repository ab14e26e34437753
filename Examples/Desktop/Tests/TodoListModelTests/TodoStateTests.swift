// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import Testing
import TodoListModel

@Suite struct TodoStateTests {
    private let alice = Account(id: Account.ID(rawValue: "alice"), environment: "login.example")
    private let bob = Account(id: Account.ID(rawValue: "bob"), environment: "login.example")
    private let milk = TodoTask(id: 1, text: "牛乳", isDone: false)
    private let bread = TodoTask(id: 2, text: "パン", isDone: false)
    private let offline = AuthenticationError(.network, "No connection.")

    private func state(_ change: (inout TodoState) -> Void) -> TodoState {
        var state = TodoState()
        change(&state)
        return state
    }

    @Test func showsNothingOfOnePersonToAnother() {
        let state = state {
            $0.found(alice)
            $0.show([milk], of: alice.id)
            $0.found(nil)
            $0.found(bob)
            $0.show([bread], of: alice.id)
            $0.show(bread, of: alice.id)
        }
        #expect(state.tasks.isEmpty && state.page == .loading)
    }

    @Test func putsWhatIsDoneLastWhenTheListComes() {
        var done = milk
        done.isDone = true
        var state = state {
            $0.found(alice)
            $0.show([milk, bread], of: alice.id)
            $0.show(done, of: alice.id)
        }
        #expect(state.tasks == [done, bread], "what was ticked stays where it is")
        state.show([done, bread], of: alice.id)
        #expect(state.tasks == [bread, done])
        let new = TodoTask(id: 3, text: "卵", isDone: false)
        state.show([done, bread, new], of: alice.id)
        #expect(state.tasks == [bread, new, done])
        state.remove(bread, of: bob.id)
        #expect(state.tasks.count == 3, "nobody else's list")
        state.remove(bread, of: alice.id)
        #expect(state.tasks == [new, done])
    }

    @Test func keepsTheListWhileSomethingFails() {
        let state = state {
            $0.found(alice)
            $0.show([milk], of: alice.id)
            $0.failed(offline)
        }
        #expect(state.tasks == [milk] && state.page == .tasks && family(state) == .network)
    }

    @Test func showsAProblemInPlaceOfAListThatNeverCame() {
        var state = state {
            $0.found(alice)
            $0.failed(offline)
        }
        #expect(state.page == .failed && family(state) == .network)
        state.retry()
        #expect(state.page == .loading && state.error == nil)
        state.failed(AuthenticationError(.signInExpired, "The sign-in expired."))
        #expect(state.page == .signedOut && code(state) == .signInExpired)
    }

    @Test func offersToFetchAListAgainWhoseFetchingWasCancelled() {
        let waiting = state {
            $0.found(alice)
            $0.cancelled()
        }
        #expect(waiting.page == .failed && waiting.error == nil)
        let listed = state {
            $0.found(alice)
            $0.show([milk], of: alice.id)
            $0.cancelled()
        }
        #expect(listed.page == .tasks && listed.tasks == [milk])
    }

    @Test func goesBackToWhereItWasWhenTheBrowserIsLeft() {
        let nobody = state {
            $0.found(nil)
            $0.visit(.signingIn)
            $0.failed(AuthenticationError(.userCancelled, "Cancelled."))
        }
        #expect(nobody.page == .signedOut && family(nobody) == .userCancelled)
        let editing = state {
            $0.found(alice)
            $0.show([milk], of: alice.id)
            $0.visit(.editingProfile)
            $0.failed(CancellationError())
        }
        #expect(editing.page == .tasks && editing.tasks == [milk] && editing.error == nil)
    }

    @Test func staysInTheBrowserWhileAListComes() {
        var state = state {
            $0.found(alice)
            $0.show([milk], of: alice.id)
            $0.visit(.editingProfile)
            $0.show([milk, bread], of: alice.id)
        }
        #expect(state.page == .inBrowser)
        state.failed(CancellationError())
        #expect(state.page == .tasks && state.tasks == [milk, bread])
    }

    @Test func showsNoEmptyListWhereNoneHasCome() {
        var state = state {
            $0.found(alice)
            $0.failed(offline)
            $0.visit(.editingProfile)
            $0.failed(CancellationError())
        }
        #expect(state.page == .loading, "the list is to be fetched again")
        state.show([], of: alice.id)
        state.visit(.editingProfile)
        state.failed(CancellationError())
        #expect(state.page == .tasks, "an empty list that came is one")
    }

    @Test func takesItsOwnCancellingForNoProblem() {
        for error in [CancellationError(), AuthenticationError(.interactionSuperseded, "x")] as [any Error] {
            let state = state {
                $0.visit(.signingIn)
                $0.failed(error)
            }
            #expect(state.page == .signedOut && state.error == nil)
        }
    }

    private func code(_ state: TodoState) -> AuthenticationError.Code? { (state.error as? AuthenticationError)?.code }

    private func family(_ state: TodoState) -> AuthenticationError.Family? {
        (state.error as? AuthenticationError)?.family
    }
}
