// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Whether a cache may ask the person to unlock the keyring, to allow it an item, or to make a keyring where there is none.
///
/// ```swift
/// let cache = KeyringTokenCache(applicationName: "Example", prompting: .allowed())
/// ```
public struct KeyringPrompting: Hashable, Sendable {
    /// How long the person is waited for, or `nil` when nobody is asked.
    public let deadline: Duration?

    /// The window that the dialog belongs to, as the keyring names windows, or `nil` for none. Under X11 it is the window's
    /// number in decimal; keyrings have no name for a window of Wayland.
    public let parentWindow: String?

    /// Nobody is asked: a locked keyring is `.keyringLocked` at once.
    public static let never = KeyringPrompting(deadline: nil, parentWindow: nil)

    /// The keyring's own dialog is shown, once, and waited for.
    ///
    /// For programs with a window. Where no dialog can be shown, it is `.keyringLocked`. Programs that want one at once wait
    /// for each other. A dialog that the person closed is not shown again before the keyring has been
    /// unlocked; one that nobody answers stays open after the deadline, since closing it would end some keyrings.
    /// - Parameters:
    ///   - deadline: How long the person is waited for; two minutes unless given.
    ///   - parentWindow: The window that the dialog belongs to; see ``parentWindow``. None unless given.
    public static func allowed(
        deadline: Duration = .seconds(120),
        parentWindow: String? = nil
    ) -> KeyringPrompting {
        KeyringPrompting(deadline: deadline, parentWindow: parentWindow)
    }
}

/// What the keyring of this session is, as ``KeyringTokenCache/status()`` found it.
///
/// ```swift
/// if try await cache.status().isLocked { showUnlockButton() }
/// ```
public struct KeyringStatus: Hashable, Sendable {
    /// The program that provides the keyring, for example `gnome-keyring-d`; `nil` where the system does not tell.
    public let provider: String?

    /// The default collection's name as the person sees it.
    public let collection: String

    /// Whether the default collection is locked, and only the person can open it.
    public let isLocked: Bool

    /// Whether items of this library are locked in the open keyring: it asks the person before it gives one to a program, as
    /// KeePassXC does by its defaults.
    public let hasLockedItems: Bool
}
