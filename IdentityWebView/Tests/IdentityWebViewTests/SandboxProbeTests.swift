// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Testing

@testable import IdentityWebView

@Suite struct SandboxProbeTests {
    private static let snap = ["SNAP": "/snap/notes/1", "SNAP_NAME": "notes", "SNAP_REVISION": "1"]
    private static let variable = "WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS"

    @Test(
        arguments: [
            ([:], nil, true),
            // Docker's containers have no marker that WebKit knows.
            ([:], "/.dockerenv", true),
            ([:], "/run/.containerenv", false),
            ([:], "/.flatpak-info", false),
            (snap, nil, false),
            (["SNAP": "/srv/snap"], nil, true),
            ([variable: "1"], nil, false),
            ([variable: "0"], nil, true),
        ] as [([String: String], String?, Bool)]
    )
    func triesWhereWebKitDoesNot(_ variables: [String: String], _ file: String?, _ expected: Bool) {
        #expect(SandboxProbe.isNeeded(variables) { $0 == file } == expected)
    }

    @Test func findsAProgramBehindALinkedFolder() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "sandbox-probe-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (store, link) = (folder.appending(path: "store"), folder.appending(path: "bin"))
        try FileManager.default.createDirectory(at: store, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: store)
        let program = store.appending(path: "true").path()
        try FileManager.default.createSymbolicLink(atPath: program, withDestinationPath: "many")
        #expect(SandboxProbe.withoutLinkedFolders(link.appending(path: "true").path()) == program)
    }

    /// The error output of a program that replaces `bwrap`.
    @Suite(.serialized, .tags(.desktop), .enabled(if: Desktop.isPrepared), .timeLimit(.minutes(1)))
    struct ProgramTests {
        init() {
            Desktop.start()
        }

        @Test(
            arguments: [
                (["/bin/true"], nil),
                (["/bin/sh", "-c", "echo 'bwrap: no' >&2; echo more >&2; exit 1"], "bwrap: no"),
                (["/bin/sh", "-c", "echo harmless >&2"], nil),
                (["/bin/false"], "it failed without a message"),
                (["/nowhere/bwrap"], "/nowhere/bwrap could not be started"),
            ] as [([String], String?)]
        )
        func tellsWhatTheProgramSays(_ command: [String], _ expected: String?) async throws {
            #expect(try await SandboxProbe.problem(of: command, within: .seconds(30)) == expected)
        }

        @Test func doesNotWaitForOneThatDoesNotEnd() async throws {
            let problem = try await SandboxProbe.problem(of: ["/bin/sleep", "3600"], within: .seconds(1))
            #expect(problem == "/bin/sleep did not end in time")
        }

        @Test func findsThatTheSandboxCanBeStartedHere() async throws {
            #expect(try await SandboxProbe.problem(within: .seconds(30)) == nil)
        }
    }
}
