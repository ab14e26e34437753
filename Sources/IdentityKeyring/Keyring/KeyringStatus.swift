// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Whether a cache may ask the person to unlock the keyring, to allow access to an item, or to create a keyring.
///
/// ```swift
/// let cache = KeyringTokenCache(applicationName: "Example", prompting: .allowed())
/// ```
public struct KeyringPrompting: Hashable, Sendable {
    /// The time to wait for the person, or `nil` if the person is not asked.
    public let deadline: Duration?

    /// The window that the dialog belongs to, as the keyring names windows, or `nil` for none. Under X11 it is the window's
    /// number in decimal; keyrings have no name for a window of Wayland.
    public let parentWindow: String?

    /// The person is not asked. A locked keyring is `.keyringLocked` at once.
    public static let never = KeyringPrompting(deadline: nil, parentWindow: nil)

    /// The keyring's own dialog is shown once, and the call waits for it.
    ///
    /// For programs with a window. If no dialog can be shown, the error is `.keyringLocked`. Programs that need a
    /// dialog at the same time wait for each other. A dialog that the person closed is not shown again until the
    /// keyring has been unlocked. A dialog without an answer stays open after the deadline, because closing it would
    /// end some keyrings.
    /// - Parameters:
    ///   - deadline: The time to wait for the person. The default is two minutes.
    ///   - parentWindow: The window that the dialog belongs to; see ``parentWindow``. The default is none.
    public static func allowed(
        deadline: Duration = .seconds(120),
        parentWindow: String? = nil
    ) -> KeyringPrompting {
        KeyringPrompting(deadline: deadline, parentWindow: parentWindow)
    }
}

/// The state of this session's keyring, from ``KeyringTokenCache/status()``.
///
/// ```swift
/// if try await cache.status().isLocked { showUnlockButton() }
/// ```
public struct KeyringStatus: Hashable, Sendable {
    /// The program that provides the keyring, for example `gnome-keyring-d`; `nil` if the system does not tell.
    public let provider: String?

    /// The default collection's name, as the person sees it; or that of another one, if that is locked and has items of this
    /// library.
    public let collection: String

    /// Whether that collection is locked and only the person can unlock it.
    public let isLocked: Bool

    /// Whether items of this library are locked in the open keyring. Such a keyring asks the person before it gives an item
    /// to a program, as KeePassXC does by default.
    public let hasLockedItems: Bool
}
