// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import GLibSupport
import Testing

@Suite struct GLibThreadTests {
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
