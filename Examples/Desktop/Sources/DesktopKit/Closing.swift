// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Foundation
public import IdentityClient

extension PublicClientApplication {
    /// Lets refreshes that are under way finish, but not forever: what a program does when its window is closed.
    public func finishBeforeClosing(within time: Duration) async {
        do {
            try await finishPendingWork(within: time)
        } catch is CancellationError {
            return
        } catch {
            // The window is gone. A person who started the program in a terminal reads it there.
            FileHandle.standardError.write(Data("\(Problem(error)?.forSupport ?? "\(error)")\n".utf8))
        }
    }
}
