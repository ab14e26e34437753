// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import GLibSupport
import IdentityClient
import Synchronization
import SystemSupport

/// The provider of the keyring, and the differences in its handling.
extension KeyringLink {
    /// The program behind the keyring, or `nil` if the system does not tell.
    func provider(within timeout: Duration) async -> String? {
        if let known = providerName.withLock({ $0 }) { return known }
        guard let name = await Self.provider(on: bus, within: timeout) else { return nil }
        providerName.withLock { $0 = name }
        return name
    }

    static func provider(on bus: BusConnection, within timeout: Duration) async -> String? {
        let process = try? await bus.call(
            "GetConnectionUnixProcessID",
            of: "org.freedesktop.DBus",
            at: "/org/freedesktop/DBus",
            in: "org.freedesktop.DBus",
            "('\(service)',)",
            returning: "(u)",
            timeout: timeout
        )
        guard let number = process?[0]?.uint32 else { return nil }  // The bus does not tell.
        return ProcessName.of(number)
    }

    /// Whether an existing item is changed by `SetSecret` instead of being replaced by `CreateItem`.
    ///
    /// For a replaced item, GNOME Keyring writes its file twice, and KeePassXC asks the person, unless this connection made
    /// the item, even if its settings say not to ask. If the keyring's name is unknown, this is `false`, and the next write
    /// asks for the name again.
    func replacesInPlace(within timeout: Duration) async -> Bool {
        guard let name = await provider(within: timeout) else { return false }
        return name.hasPrefix("gnome-keyring") || name.hasPrefix("keepassxc")
    }

    /// The number of sessions in which a secret is read before it counts as undecodable.
    ///
    /// KWallet (seen in 5.103) drops leading zeros of the agreed number before it derives the key. The key of one session
    /// in 256 therefore does not fit.
    var sessionsToTry: Int {
        guard let name = providerName.withLock({ $0 }) else { return 2 }
        return name.hasPrefix("kwallet") || name.hasPrefix("ksecret") ? 4 : 2
    }

    /// Whether the keyring may be KeePassXC, which opens a dialog for a search if all collections are locked, unless its setting
    /// `UnlockBeforeSearch` is off, and asks before it gives an item to a connection that did not make it.
    ///
    /// It answers a search when the dialog is closed, and each later search waits inside the previous one. In a Flatpak,
    /// KeePassXC has the name of the proxy to the bus. A keyring with an unknown name may be KeePassXC as well.
    var mayBeKeePassXC: Bool {
        guard let name = providerName.withLock({ $0 }) else { return true }
        return name.hasPrefix("keepassxc") || name == "xdg-dbus-proxy"
    }
}
