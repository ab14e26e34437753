// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Glibc
import IdentityTestSupport
import LoopbackHTTP
import Synchronization
import SystemSupport
import Testing

@testable import identityctl

/// The sockets of an agent, and agents that want the same place.
@Suite struct AgentPlaceTests {
    private let temporary: TemporaryDirectory
    private let path: String

    init() throws {
        temporary = try TemporaryDirectory()
        path = "\(temporary.path)/run/a.sock"
    }

    @Test func isOnlyItsOwners() throws {
        let place = try AgentPlace(path)
        #expect(try permissions("\(temporary.path)/run") == 0o700)
        #expect(try temporary.names(in: "run") == ["a.sock", "a.sock.control", "a.sock.lock"])
        for name in [path, path + ".control", path + ".lock"] { #expect(try permissions(name) == 0o600) }
        withExtendedLifetime(place) {}
    }

    @Test func isFreeAgainAfterItsAgent() throws {
        for _ in 0..<2 {
            let place = try AgentPlace(path)
            #expect(throws: SystemFailure.self) { try AgentPlace(path) }
            #expect(UnixSocket.isAlive(path))
            withExtendedLifetime(place) {}
        }
        #expect(try temporary.names(in: "run") == [])
    }

    /// Sockets that a killed agent leaves stay without a lock.
    @Test(.timeLimit(.minutes(1))) func goesToOneOfManyAgents() throws {
        do { withExtendedLifetime(try AgentPlace(path)) {} }
        let stale = "\(temporary.path)/stale"
        do { withExtendedLifetime(try UnixSocket.listen(at: stale)) {} }
        // A process that another test starts has a copy of the descriptor until it runs its program.
        while UnixSocket.isAlive(stale) {}
        for _ in 0..<20 {
            #expect(unsafe link(stale, path) == 0)
            let places = Mutex<[AgentPlace]>([])
            DispatchQueue.concurrentPerform(iterations: 8) { [path] _ in
                guard let place = try? AgentPlace(path) else { return }
                places.withLock { $0.append(place) }
            }
            #expect(places.withLock(\.count) == 1)
            #expect(UnixSocket.isAlive(path))
            places.withLock { $0.removeAll() }
        }
    }

    /// An agent that has found a stale socket and is about to replace it does not listen yet.
    @Test func leavesThePlaceToAnAgentThatHasTheLock() throws {
        let path = "\(temporary.path)/a.sock"
        // A program that another test starts at this moment may keep a copy of either for a while.
        do { _ = shutdown(try UnixSocket.listen(at: path).raw, Int32(SHUT_RDWR)) }
        do {
            let lock = SharedDescriptor(unsafe open(path + ".lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600))
            #expect(flock(lock.raw, LOCK_EX | LOCK_NB) == 0)
            #expect(throws: SystemFailure.self) { try AgentPlace(path) }
            #expect(FileManager.default.fileExists(atPath: path))
            #expect(flock(lock.raw, LOCK_UN) == 0)
        }
        let place = try AgentPlace(path)
        #expect(UnixSocket.isAlive(path))
        withExtendedLifetime(place) {}
    }

    @Test func leavesWhatIsNotItsOwn() throws {
        let file = "\(temporary.path)/file"
        #expect(FileManager.default.createFile(atPath: file, contents: Data()))
        #expect(throws: SystemFailure.self) { try AgentPlace(file) }
        #expect(FileManager.default.fileExists(atPath: file))
        // A socket that sshd forwards, for which no process has the lock.
        let forwarded = "\(temporary.path)/forwarded"
        let socket = try UnixSocket.listen(at: forwarded)
        #expect(throws: SystemFailure.self) { try AgentPlace(forwarded) }
        #expect(UnixSocket.isAlive(forwarded))
        withExtendedLifetime(socket) {}
        #expect(unsafe chmod(temporary.path, 0o770) == 0)
        #expect(throws: SystemFailure.self) { try AgentPlace("\(temporary.path)/b.sock") }
    }

    /// The lock's name could lead to another file of the person.
    @Test func followsNoLinkInPlaceOfItsLock() throws {
        let lock = "\(temporary.path)/a.sock.lock"
        try FileManager.default.createSymbolicLink(atPath: lock, withDestinationPath: "\(temporary.path)/target")
        #expect(throws: SystemFailure.self) { try AgentPlace("\(temporary.path)/a.sock") }
        #expect(!FileManager.default.fileExists(atPath: "\(temporary.path)/target"))
    }
}
