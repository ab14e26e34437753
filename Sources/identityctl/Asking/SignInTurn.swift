// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import OAuthWire

/// The turn to sign in, which one process has at a time. After a sign-in that came to nothing, no tab opens for ten minutes.
struct SignInTurn: Sendable {
    static let pause = 600
    /// The least number of seconds between two pages for one address after its first sign-in.
    static let interval = 60
    private static let turns = CacheKey(group: .application("helper"), kind: .application, name: "turn")

    /// The place of the lock by which one process has the turn, and of the note about a sign-in that came to nothing.
    let directory: String

    /// Waits for the turn.
    ///
    /// - Throws: `.cacheBusy` if another process still has it then, and the errors of a lock.
    func take(within time: Duration) async throws -> HeldLock {
        try await SharedLocks(directory: directory, timeout: time, pause: .milliseconds(100)).take(for: Self.turns)
    }

    private var declined: String { "\(directory)/declined" }

    /// Notes that a sign-in came to nothing.
    func decline() throws { try PlainFile.write([], to: declined) }

    /// Whether a sign-in came to nothing a short time ago.
    var isDeclined: Bool { Self.wasWritten(declined, within: Self.pause) }

    private var course: String { "\(directory)/course" }

    /// The course of the last sign-in, as its process reports it.
    func lastCourse() -> SignInCourse {
        let read = try? PlainFile.read(course, atMost: 64 << 10) { _ in }  // nothing is known then
        return SignInCourse(read?.bytes ?? [])
    }

    /// Reports to the others how the sign-in goes on. A failure to report it changes nothing.
    func report(_ course: SignInCourse) { try? PlainFile.write(course.bytes, to: self.course) }

    private var asked: String { "\(directory)/asked" }

    /// Notes that a page opens where the person was signed in before.
    func noteQuestion() throws { try PlainFile.write([], to: asked) }

    /// Takes that back: no page opened.
    func forgetQuestion() { _ = PlainFile.remove(asked) }

    /// Whether such a page opened in the last minute: a server could demand one for each message.
    var hasAskedLately: Bool { Self.wasWritten(asked, within: Self.interval) }

    private static func wasWritten(_ path: String, within seconds: Int) -> Bool {
        guard let written = try? FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date
        else { return false }
        return (0..<Double(seconds)).contains(Date.now.timeIntervalSince(written))
    }

    static let hasAsked = "A page for this server was opened in the last minute, so that none opens now."

    static let wasDeclined = "The last sign-in came to nothing, so that no browser is opened for ten minutes."
}

extension SignInTurn {
    /// Waits for the turn to sign in to a provider with a client, or for a resource, in a group. If no lock can be had, as in a
    /// container whose user has no home, that is said, and every process has its turn at once.
    static func ofCommand(
        in directory: @autoclosure () throws -> String,
        of names: [String],
        _ group: CacheGroup,
        _ timeout: Duration,
        _ console: Console
    ) async throws -> HeldLock? {
        let key = CacheKey(group: group, kind: .application, name: Digest.hexadecimal(of: names))
        func take(_ timeout: Duration) async throws -> HeldLock {
            let directory = try directory() + "/sign-in"
            return try await SharedLocks(directory: directory, timeout: timeout, pause: .milliseconds(100)).take(
                for: key
            )
        }
        do {
            do {
                return try await take(.zero)
            } catch AuthenticationError.Code.cacheBusy {
                console.line("Another sign-in for this client is under way. Waiting for its end; Ctrl-C gives up.")
            }
            return try await take(timeout)
        } catch AuthenticationError.Code.cacheBusy {
            throw AuthenticationError(
                .interactionTimedOut,
                "Another sign-in for this client did not end in time. Finish it in the browser, or end it, and try again."
            )
        } catch let error as AuthenticationError where .cache ~= error.code {
            console.line(
                "Commands that sign in at the same time cannot wait for each other here, so each opens a page. \(error.message)"
            )
            return nil
        }
    }
}

/// The course of a sign-in in a process of its own.
struct SignInCourse: Hashable {
    /// Whether a page was opened.
    var hasPage = false
    /// The reason why it came to nothing, or why it waits; empty if it waits for the person at the page.
    var text = ""
    /// The advice if it came to nothing.
    var advice = ""

    init() {}

    /// The advice of a sign-in that came to nothing, beside an error that has its reason.
    struct Advice: Error {
        let text: String
    }

    fileprivate init(_ bytes: [UInt8]) {
        let lines = String(decoding: bytes.dropFirst(), as: UTF8.self).split(
            separator: "\n",
            maxSplits: 1,
            omittingEmptySubsequences: false
        )
        hasPage = bytes.first == UInt8(ascii: "+")
        (text, advice) = (String(lines.first ?? ""), lines.count > 1 ? String(lines[1]) : "")
    }

    fileprivate var bytes: [UInt8] { Array("\(hasPage ? "+" : "-")\(text)\n\(advice)".utf8) }
}
