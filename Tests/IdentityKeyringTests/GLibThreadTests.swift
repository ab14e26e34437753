// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import GLibSupport
import Testing

@Suite struct GLibThreadTests {
    @Test func tellsWhyTheLoaderRefusedALibraryThatIsThere() async {
        let error = await #expect(throws: LibraryProblem.self) { try await GLibThread.running(library: "/etc/passwd") }
        guard case .unloadable("/etc/passwd", let reason) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(reason.contains("ELF") && reason.count <= 200)
    }

    /// The thread ends at once, often before the starting thread continues.
    @Test(.timeLimit(.minutes(1))) func survivesManyStartsWhereGIOIsMissing() async {
        await withTaskGroup { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<500 {
                        await #expect(throws: LibraryProblem.self) {
                            try await GLibThread.running(library: "libno-such-gio.so.0")
                        }
                    }
                }
            }
        }
    }

    @Test(.timeLimit(.minutes(1))) func isOneForTheProcess() async throws {
        let library = "libgio-2.0.so.0"
        guard let first = try? await GLibThread.running(library: library) else { return }  // not installed here
        await withTaskGroup { group in
            for _ in 0..<8 {
                group.addTask { #expect((try? await GLibThread.running(library: library)) === first) }
            }
        }
    }
}
