// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

extension BusConnection {
    /// Calls `left` on the GLib thread when the owner of a name is gone, even if there is a new owner.
    @discardableResult
    package func whenOwnerLeaves(_ name: String, _ left: @escaping @Sendable () -> Void) -> Subscription {
        whenOwnerChanges(name) { old, _ in if !old.isEmpty { left() } }
    }

    /// Calls `came` on the GLib thread when a name has a new owner.
    @discardableResult
    package func whenOwnerComes(_ name: String, _ came: @escaping @Sendable () -> Void) -> Subscription {
        whenOwnerChanges(name) { _, new in if !new.isEmpty { came() } }
    }

    private func whenOwnerChanges(
        _ name: String,
        _ changed: @escaping @Sendable (_ old: String, _ new: String) -> Void
    ) -> Subscription {
        subscribe(
            to: "org.freedesktop.DBus",
            interface: "org.freedesktop.DBus",
            member: "NameOwnerChanged",
            firstArgument: name
        ) { signal in
            if let old = signal.parameters[1]?.text, let new = signal.parameters[2]?.text { changed(old, new) }
        }
    }
}
