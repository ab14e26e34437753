// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import LoopbackHTTP

/// The users whose programs may send a redirect: this user, root, and the user who became this user for the program.
///
/// If the address of a sign-in becomes known (a custom launcher may put it into a command line), another user could finish that sign-in with another account, and send the answer to our port: the person would work in a stranger's account ([RFC 6749 §10.12](https://www.rfc-editor.org/rfc/rfc6749#section-10.12)).
struct RedirectSender: Sendable {
    private static let executor = QueueExecutor("identity-client.redirect-sender")

    let users: Set<UInt32>

    static var current: RedirectSender {
        RedirectSender(user: SystemCall.effectiveUser, variable: SystemCall.environment)
    }

    init(users: Set<UInt32>) {
        self.users = users
    }

    /// The user who became `user` by `sudo` or `pkexec` has a separate browser.
    init(user: UInt32, variable: (String) -> String?) {
        let invokers = ["SUDO_UID", "PKEXEC_UID"].compactMap { variable($0).flatMap(UInt32.init) }
        self.init(users: Set([user, 0] + invokers))
    }

    /// Asks the kernel whose program is at the other end, which takes milliseconds.
    func mayHaveSent(_ request: LoopbackRequest) async -> Bool {
        guard let peer = request.peer else { return true }
        let owner = try? await Self.executor.run { peer.owner() }  // cancelled: the connection is gone
        return mayBe(owner ?? .unknown)
    }

    /// An unknown owner (a browser outside this virtual machine) is accepted.
    func mayBe(_ owner: LoopbackPeer.Owner) -> Bool {
        switch owner {
        case .user(let user): users.contains(user)
        case .gone: false
        case .unknown: true
        }
    }
}
