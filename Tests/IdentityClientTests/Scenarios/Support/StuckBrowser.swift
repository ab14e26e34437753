// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient

/// A launcher that does not come back, and does not heed that its task is cancelled.
final class StuckBrowser: BrowserLauncher {
    private let waiting = Shared<[CheckedContinuation<Void, Never>]>([])

    func open(_ url: URL) async throws {
        await withCheckedContinuation { continuation in waiting.withLock { $0.append(continuation) } }
    }

    /// Ends what is stuck, so that the test leaves nothing behind.
    func letGo() {
        for continuation in waiting.value { continuation.resume() }
    }
}
