// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import IdentityTestSupport
import SystemSupport
import Testing

@testable import IdentityClient

@Suite(.timeLimit(.minutes(1))) struct ProcessTableTests {
    private static func identity(of process: pid_t) throws -> ProcessIdentity {
        let stat = try String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
        let fields = stat.drop { $0 != ")" }.dropFirst().split(separator: " ")
        var identity = ProcessTable.current()
        identity.pid = Int(process)
        identity.startTime = String(fields[19])
        return identity
    }

    /// Hides every process from this one by mounting an empty directory over `/proc`, for this process alone.
    /// - Returns: `false` if the system does not even let root do this.
    private static func hideProcesses() -> Bool {
        // Its declaration is visible only to GNU sources.
        typealias Unshare = @convention(c) (Int32) -> Int32
        guard let unshare = unsafe dlsym(nil, "unshare") else { return false }
        let newMounts: Int32 = 0x0002_0000
        guard unsafe unsafeBitCast(unshare, to: Unshare.self)(newMounts) == 0 else { return false }
        guard unsafe mount(nil, "/", nil, UInt(MS_REC | MS_PRIVATE), nil) == 0 else { return false }
        return unsafe mount("tmpfs", "/proc", "tmpfs", 0, nil) == 0
    }

    private func state(of process: pid_t) -> Substring? {
        let stat = (try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)) ?? ""
        return stat.drop { $0 != ")" }.dropFirst().split(separator: " ").first
    }

    @Test func tellsTheLivingFromTheDead() async throws {
        let child = try Bystander.start()
        let identity = try Self.identity(of: child)
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

    /// The kernel shows the process as a zombie while its other threads run.
    @Test func aProcessWithoutItsMainThreadLives() async throws {
        let program = """
            import ctypes, threading, time
            threading.Thread(target=time.sleep, args=(600,)).start()
            ctypes.CDLL(None).pthread_exit(None)
            """
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/python3")
        process.arguments = ["-c", program]
        try process.run()
        let identity = try Self.identity(of: process.processIdentifier)
        #expect(try await eventually { state(of: process.processIdentifier) == "Z" })
        #expect(!ProcessTable.isDead(identity))
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        #expect(ProcessTable.isDead(identity))
    }

    @Test(.enabled(if: geteuid() == 0, "only root can mount")) func asksTheKernelAboutWhomProcDoesNotShow() async {
        await #expect(processExitsWith: .success) {
            let child = try Bystander.start()
            let identity = try ProcessTableTests.identity(of: child)
            guard ProcessTableTests.hideProcesses() else {
                kill(child, SIGKILL)
                Issue.record("This machine lets even root mount nothing, so it was not tried.", severity: .warning)
                return
            }
            #expect(unsafe access("/proc/\(child)", F_OK) != 0)
            #expect(!ProcessTable.isDead(identity))
            kill(child, SIGKILL)
            #expect(waitpid(child, nil, 0) == child)
            #expect(ProcessTable.isDead(identity))
        }
    }

    @Test func knowsItself() throws {
        let me = ProcessTable.current()
        #expect(me.pid == Int(getpid()) && me.bootID.utf8.count == 36 && me.pidNamespace.hasPrefix("pid:["))
        #expect(try Self.identity(of: getpid()) == me)
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
