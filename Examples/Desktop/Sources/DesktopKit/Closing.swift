// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

public import IdentityClient

extension PublicClientApplication {
    /// Lets refreshes that are under way finish, but not for ever: what a program does before it ends.
    public func finishPendingRefreshes(within time: Duration) async {
        await withTaskGroup(of: Void.self) { group in
            // Whichever is first; all that either can throw is that it was cancelled.
            group.addTask { try? await self.finishPendingRefreshes() }
            group.addTask { try? await Task.sleep(for: time) }
            await group.next()
            group.cancelAll()
        }
    }
}
