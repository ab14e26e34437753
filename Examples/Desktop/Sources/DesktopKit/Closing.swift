// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
public import IdentityClient

extension PublicClientApplication {
    /// Lets refreshes that are under way finish, but not for ever: what a program does before it ends.
    public func finishPendingRefreshes(within time: Duration) async {
        await withTaskGroup(of: Void.self) { group in
            // Whichever is first.
            group.addTask {
                do {
                    try await self.finishPendingRefreshes()
                } catch is CancellationError {
                    return
                } catch {
                    // The window is gone. Who started the program in a terminal reads it there.
                    FileHandle.standardError.write(Data("\(Problem(error)?.full ?? "\(error)")\n".utf8))
                }
            }
            group.addTask { try? await Task.sleep(for: time) }  // it can only be cancelled
            await group.next()
            group.cancelAll()
        }
    }
}
