// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import LoopbackHTTP

/// Whose programs may send a redirect: this user's, root's, and those of the user who became this one for the program.
///
/// The address that a sign-in begins with is no secret: other users read it from the browser's command line. One of them could
/// finish that sign-in as somebody else, and send the answer to our port: the person would work in a stranger's account
/// ([RFC 6749 §10.12](https://www.rfc-editor.org/rfc/rfc6749#section-10.12)).
struct RedirectSender: Sendable {
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

    /// A system that does not tell whose program it is (a browser outside this virtual machine) is believed.
    func mayBe(_ owner: LoopbackPeer.Owner) -> Bool {
        switch owner {
        case .user(let user): users.contains(user)
        case .gone: false
        case .unknown: true
        }
    }
}
