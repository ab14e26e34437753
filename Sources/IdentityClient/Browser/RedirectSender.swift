// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import LoopbackHTTP

/// Whose programs may send a redirect: this user's, root's, and those of the user who became this one for the program.
///
/// Where the address of a sign-in becomes known (a launcher of the program's own may put it into a command line), another user
/// could finish that sign-in as somebody else, and send the answer to our port: the person would work in a stranger's account
/// ([RFC 6749 §10.12](https://www.rfc-editor.org/rfc/rfc6749#section-10.12)).
struct RedirectSender: Sendable {
    private static let executor = QueueExecutor("identity-client.redirect-sender")

    let users: Set<UInt32>

    static var current: RedirectSender {
        RedirectSender(user: SystemCall.effectiveUser, variable: SystemCall.environment)
    }

    init(users: Set<UInt32>) {
        self.users = users
    }

    /// Who became `user` by `sudo` or `pkexec` has a browser of their own.
    init(user: UInt32, variable: (String) -> String?) {
        let invokers = ["SUDO_UID", "PKEXEC_UID"].compactMap { variable($0).flatMap(UInt32.init) }
        self.init(users: Set([user, 0] + invokers))
    }

    /// Asks the kernel whose program is at the other end. It takes a while to write its tables.
    func mayHaveSent(_ request: LoopbackRequest) async -> Bool {
        guard let peer = request.peer else { return true }
        let owner = try? await Self.executor.run { peer.owner() }  // cancelled: the connection is gone
        return mayBe(owner ?? .unknown)
    }

    /// A system that does not tell whose program it is (a browser outside this virtual machine) is believed.
    func mayBe(_ owner: LoopbackPeer.Owner) -> Bool {
        switch owner {
        case .user(let user): users.contains(user)
        case .gone: false
        case .unknown: true
        }
    }
}
