// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient
import Logging
import Synchronization

/// Finds out whether the next program can read what this one has stored.
///
/// By default KeePassXC gives an item only to the connection that made it, and asks the person about every other: the program
/// that signs in sees nothing of it, and the next one cannot read its key.
final class KeyringSharing: Sendable {
    private let connector: KeyringConnector
    private let logger: Logger?
    private let isChecked = Mutex(false)

    init(_ connector: KeyringConnector, _ logger: Logger?) {
        self.connector = connector
        self.logger = logger
    }

    /// Searches for a new item over another connection, and logs a warning if it is locked there. Once; nothing for a keyring
    /// that is known not to ask.
    func check(_ attributes: [(String, String)]) async {
        let settings = connector.settings
        let isHidden = try? await connector.bounded(by: settings.readTimeout) {
            guard try await self.connector.link().mayBeKeePassXC, self.isFirst() else { return false }
            let other = try await KeyringLink.open(settings, startsKeyring: false) { _ in }
            let paths = try await other.paths(with: attributes, within: settings.readTimeout)
            return paths.unlocked.isEmpty && !paths.locked.isEmpty
        }
        // A question that failed shows nothing, and the item is stored.
        guard isHidden == true else { return }
        warn(AuthenticationError.keyringItemsHidden.message)
    }

    func warn(_ message: String) { (logger ?? Logger.current).warning("\(message)") }

    private func isFirst() -> Bool {
        isChecked.withLock { isChecked in
            defer { isChecked = true }
            return !isChecked
        }
    }
}
