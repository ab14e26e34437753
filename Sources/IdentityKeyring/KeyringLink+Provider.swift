// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import GLibSupport
import IdentityClient
import Synchronization

/// The provider of the keyring, and the differences in its handling.
extension KeyringLink {
    /// The program behind the keyring, or `nil` where the system does not tell.
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
        guard let number = process?[0]?.uint32 else { return nil }  // a bus that does not tell
        return ProcessName.of(number)
    }

    /// Whether the secret of an item that is there is better set than its item made anew.
    ///
    /// For an item that is made anew, GNOME Keyring writes its file twice, and KeePassXC asks the person whether this
    /// program may touch it, but for the connection that made the item, also where it is told not to ask. Where the
    /// keyring's name is not told, that is no, and is asked again the next time.
    func replacesInPlace(within timeout: Duration) async -> Bool {
        guard let name = await provider(within: timeout) else { return false }
        return name.hasPrefix("gnome-keyring") || name.hasPrefix("keepassxc")
    }

    /// Whether a search may open a dialog where all that the keyring has is locked.
    ///
    /// KeePassXC does, unless its setting `UnlockBeforeSearch` is off; it answers when the dialog is closed, and each search
    /// meanwhile waits inside the one before. In a Flatpak it has the name of the proxy to the bus. A keyring whose name is
    /// not told may be it, too.
    var asksWhenSearched: Bool {
        guard let name = providerName.withLock({ $0 }) else { return true }
        return name.hasPrefix("keepassxc") || name == "xdg-dbus-proxy"
    }

    /// Whether a search asks the person nothing.
    func isSilentlySearched(within timeout: Duration) async throws -> Bool {
        guard asksWhenSearched else { return true }
        return try await !isLocked(defaultCollection(within: timeout), within: timeout)
    }
}
