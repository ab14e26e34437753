// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Testing

@testable import IdentityClient

@Suite(.timeLimit(.minutes(1))) struct ProcessTableTests {
    private func spawn() throws -> pid_t {
        var child: pid_t = 0
        let arguments = unsafe [strdup("sleep"), strdup("600"), nil]
        defer { unsafe arguments.forEach { unsafe free($0) } }
        let result = unsafe posix_spawn(&child, "/bin/sleep", nil, nil, arguments, nil)
        try #require(result == 0)
        return child
    }

    private func identity(of process: pid_t) throws -> ProcessIdentity {
        let stat = try String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
        let fields = stat.drop { $0 != ")" }.dropFirst().split(separator: " ")
        var identity = ProcessTable.current()
        identity.pid = Int(process)
        identity.startTime = String(fields[19])
        return identity
    }

    private func state(of process: pid_t) -> Substring? {
        let stat = (try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)) ?? ""
        return stat.drop { $0 != ")" }.dropFirst().split(separator: " ").first
    }

    @Test func tellsTheLivingFromTheDead() async throws {
        let child = try spawn()
        let identity = try identity(of: child)
        #expect(!ProcessTable.isDead(identity))
        var later = identity
        later.startTime = "1"
        #expect(ProcessTable.isDead(later), "another process with the same number")

        kill(child, SIGKILL)
        #expect(try await eventually { state(of: child) == "Z" })
        #expect(ProcessTable.isDead(identity), "killed, and nobody reaped it")

        var status: Int32 = 0
        #expect(unsafe waitpid(child, &status, 0) == child)
        #expect(ProcessTable.isDead(identity), "gone")
    }

    @Test func knowsItself() throws {
        let me = ProcessTable.current()
        #expect(me.pid == Int(getpid()) && me.bootID.utf8.count == 36 && me.pidNamespace.hasPrefix("pid:["))
        #expect(try identity(of: getpid()) == me)
        #expect(me.sees(me) && !ProcessTable.isDead(me))
    }

    @Test(arguments: [0, -1, Int.max, Int.min, 4_194_305]) func aNumberThatIsNoneIsDead(pid: Int) {
        var identity = ProcessTable.current()
        identity.pid = pid
        #expect(ProcessTable.isDead(identity))
    }

    @Test func theBootClockRuns() {
        let first = ProcessTable.bootTime()
        #expect(first > 0 && ProcessTable.bootTime() >= first)
    }
}
