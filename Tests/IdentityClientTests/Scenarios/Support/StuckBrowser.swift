// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import IdentityClient
import IdentityTestSupport

/// A launcher that does not return and ignores the cancellation of its task.
final class StuckBrowser: BrowserLauncher {
    private let waiting = Shared<[CheckedContinuation<Void, Never>]>([])

    func open(_ url: URL) async throws {
        await withCheckedContinuation { continuation in waiting.withLock { $0.append(continuation) } }
    }

    /// Releases the stuck calls, so that the test leaves nothing behind.
    func letGo() {
        for continuation in waiting.value { continuation.resume() }
    }
}
