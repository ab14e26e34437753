// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import IdentityTestSupport
import Synchronization
import Testing

@testable import identityctl

/// The phantom and the port of a route, as they are kept.
@Suite struct ForwardRecordTests {
    private let temporary: TemporaryDirectory
    private let directory: ProfileDirectory
    private let path: String

    init() throws {
        temporary = try TemporaryDirectory()
        directory = try ProfileDirectory(Variables(["HOME": temporary.path]))
        path = "\(temporary.path)/.local/state/identityctl/forward/work.json"
    }

    private func lines(_ more: String = "") throws -> ForwardLines {
        let text =
            "client-id = c\nissuer = https://id.test\nserves = https://api.test\nforward = https://api.test\n\(more)"
        let name = try #require(ProfileName("work"))
        return try #require(try ForwardLines(Profile(name, path: "/p", parsing: Array(text.utf8))))
    }

    @Test func isDrawnOnceAndKeptForItsPersonAlone() throws {
        let first = try ForwardRecord.kept(for: lines(), in: directory)
        #expect(first.phantom.hasPrefix("fwd_") && first.phantom.utf8.count == 47 && first.port > 0)
        #expect(try ForwardRecord.kept(for: lines(), in: directory) == first)
        #expect(try permissions(path) == 0o600)
        let chosen = try ForwardRecord.kept(for: lines("forward-port = 8410"), in: directory)
        #expect(chosen.phantom == first.phantom && chosen.port == 8410)
    }

    @Test func isOneForManyProcesses() throws {
        let lines = try lines()
        let found = Mutex<Set<ForwardRecord>>([])
        DispatchQueue.concurrentPerform(iterations: 8) { [directory] _ in
            guard let record = try? ForwardRecord.kept(for: lines, in: directory) else { return }
            found.withLock { _ = $0.insert(record) }
        }
        #expect(found.withLock(\.count) == 1)
    }

    @Test func getsAnotherPhantomAtTheSamePort() throws {
        let first = try ForwardRecord.kept(for: lines(), in: directory)
        try ForwardRecord.replacePhantom(of: lines(), in: directory)
        let second = try ForwardRecord.kept(for: lines(), in: directory)
        #expect(second.phantom != first.phantom && second.port == first.port)
        #expect(try permissions(path) == 0o600)
    }

    @Test(
        arguments: [
            "", "{}", #"{"phantom":"short","port":8410}"#,
            #"{"phantom":"fwd_0123456789012345678901234567890","port":0}"#,
            #"{"phantom":"fwd_01234567890123456789012345678 90","port":8410}"#,
        ]
    )
    func isNotGuessedFromADamagedFile(_ text: String) throws {
        _ = try ForwardRecord.kept(for: lines(), in: directory)
        try text.write(toFile: path, atomically: false, encoding: .utf8)
        let refusal = #expect(throws: UsageError.self) { try ForwardRecord.kept(for: lines(), in: directory) }
        #expect(refusal?.message.contains("damaged") == true && refusal?.message.contains("rm \(path)") == true)
    }

    @Test func isNotUsedIfOthersCanReadIt() throws {
        _ = try ForwardRecord.kept(for: lines(), in: directory)
        #expect(unsafe chmod(path, 0o640) == 0)
        let refusal = #expect(throws: UsageError.self) { try ForwardRecord.kept(for: lines(), in: directory) }
        #expect(refusal?.message.contains("others can read the phantom") == true)
    }
}
