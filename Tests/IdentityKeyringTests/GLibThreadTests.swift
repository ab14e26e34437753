// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import GLibSupport
import Testing

@Suite struct GLibThreadTests {
    @Test func tellsWhyTheLoaderRefusedALibraryThatIsThere() async {
        let error = await #expect(throws: LibraryProblem.self) { try await GLibThread.start(library: "/etc/passwd") }
        guard case .unloadable("/etc/passwd", let reason) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(reason.contains("ELF") && reason.count <= 200)
    }

    /// The thread ends at once, often before whoever started it goes on.
    @Test(.timeLimit(.minutes(1))) func survivesManyStartsWhereGIOIsMissing() async {
        await withTaskGroup { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<500 {
                        await #expect(throws: LibraryProblem.self) {
                            try await GLibThread.start(library: "libno-such-gio.so.0")
                        }
                    }
                }
            }
        }
    }
}
