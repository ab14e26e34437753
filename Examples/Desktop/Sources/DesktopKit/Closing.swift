// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
public import IdentityClient

extension PublicClientApplication {
    /// Lets pending refreshes finish within a time limit. Call it before the program ends.
    public func finishPendingRefreshes(within time: Duration) async {
        await withTaskGroup(of: Void.self) { group in
            // The first of the two tasks to end wins.
            group.addTask {
                do {
                    try await self.finishPendingRefreshes()
                } catch is CancellationError {
                    return
                } catch {
                    // The window is gone, so the error goes to the terminal from which the program was started.
                    FileHandle.standardError.write(Data("\(Problem(error)?.full ?? "\(error)")\n".utf8))
                }
            }
            group.addTask { try? await Task.sleep(for: time) }  // it can only be cancelled
            await group.next()
            group.cancelAll()
        }
    }
}
