// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import Synchronization
import Testing

@testable import identityctl

/// Whether a person may be asked, by whom, and once.
@Suite struct AskingTests {
    private static let screen = ["DISPLAY": ":0"]

    @Test(
        arguments: [
            ([:], false, .never), ([:], true, .here), (screen, false, .here),
            (["IDENTITYCTL_AGENT": "/run/agent"], true, .never),
            // A command was asked for by a person, whatever programs may do.
            (["IDENTITYCTL_SIGN_IN": "never"], true, .here),
        ] as [([String: String], Bool, Asking)]
    )
    func ofACommandIsHere(_ variables: [String: String], _ isTerminal: Bool, _ wanted: Asking) {
        #expect(Asking.ofCommand(Variables(variables), isTerminal: isTerminal) == wanted)
    }

    @Test(
        arguments: [
            // The setting, a helper's answer, a bridge's, and a bridge's in a program that shows pages.
            (nil, .never, .atDesktop, .atDesktop), ("when-needed", .atDesktop, .atDesktop, .atDesktop),
            ("never", .never, .never, .never),
        ] as [(String?, Asking, Asking, Asking)]
    )
    func ofAProgramFollowsTheSetting(_ setting: String?, _ helper: Asking, _ bridge: Asking, _ page: Asking) throws {
        var variables = Self.screen
        variables["IDENTITYCTL_SIGN_IN"] = setting
        #expect(try Asking.ofHelper(Variables(variables)) == helper)
        #expect(try Asking.ofBridge(Variables(variables), showsPages: false) == bridge)
        variables["DISPLAY"] = nil
        #expect(try Asking.ofHelper(Variables(variables)) == .never)
        #expect(try Asking.ofBridge(Variables(variables), showsPages: false) == .never)
        #expect(try Asking.ofBridge(Variables(variables), showsPages: true) == page)
        variables["IDENTITYCTL_AGENT"] = "/run/agent"
        #expect(try Asking.ofBridge(Variables(variables), showsPages: true) == .never)
    }

    @Test func refusesASettingThatIsNotKnown() {
        let variables = Variables(["DISPLAY": ":0", "IDENTITYCTL_SIGN_IN": "sometimes"])
        #expect(throws: UsageError.self) { try Asking.ofHelper(variables) }
        #expect(throws: UsageError.self) { try Asking.ofBridge(variables, showsPages: true) }
    }

    private struct Unreadable: Error {}

    @Test func signsInOnceAndOnlyWhereAPersonIsNeeded() async throws {
        let needed = AuthenticationError(.loginRequired, "Sign in.")
        let signIns = Mutex(0)
        func attempt(_ asking: Asking, failing errors: [any Error]) async throws -> String {
            var errors = errors[...]
            return try await Asking.result(asking) {
                if let error = errors.popFirst() { throw error }
                return "token"
            } signingIn: { _ in
                signIns.withLock { $0 += 1 }
            }
        }
        #expect(try await attempt(.atDesktop, failing: []) == "token" && signIns.withLock(\.self) == 0)
        #expect(try await attempt(.atDesktop, failing: [needed]) == "token" && signIns.withLock(\.self) == 1)
        await #expect(throws: AuthenticationError.self) { try await attempt(.here, failing: [needed, needed]) }
        #expect(signIns.withLock(\.self) == 2)
        await #expect(throws: AuthenticationError.self) { try await attempt(.never, failing: [needed]) }
        await #expect(throws: Unreadable.self) { try await attempt(.atDesktop, failing: [Unreadable()]) }
        #expect(signIns.withLock(\.self) == 2)
    }

    @Test func looksWhetherAPersonMayBeAskedOnlyThen() async throws {
        #expect(try await Asking.result(try { throw Unreadable() }(), of: { 1 }, signingIn: { _ in }) == 1)
    }

    @Test func looksAtABrowserAndAtNoTerminal() {
        let variables = DesktopSignIn.variables { $0 == "IDENTITYCTL_CACHE" }
        for name in ["MANUAL", "DEVICE_CODE", "PRINT_TOKEN", "JSON"] {
            #expect(variables["IDENTITYCTL_\(name)"] == "0")
        }
        #expect(variables["PATH"] != nil)
    }
}
