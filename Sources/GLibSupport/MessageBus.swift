// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

/// The addresses of the buses, in D-Bus syntax.
package enum MessageBus {
    /// The name of GIO's library, over which the buses are reached.
    package static let library = "libgio-2.0.so.0"

    /// Returns the address of the desktop's session bus, or `nil` if there is none. Starts no bus.
    package static func session() -> String? {
        if let address = SystemCall.environment("DBUS_SESSION_BUS_ADDRESS") {
            return address == "disabled:" || address == "autolaunch:" ? nil : address
        }
        let directories = [
            SystemCall.environment("XDG_RUNTIME_DIR"), "/run/user/\(SystemCall.effectiveUser)",
        ]
        for case let directory? in directories where directory.hasPrefix("/") && isPlain(directory) {
            if SystemCall.exists("\(directory)/bus") { return "unix:path=\(directory)/bus" }
        }
        return nil
    }

    /// Returns the address of the system's bus, or `nil` if there is none.
    package static func system() -> String? {
        if let address = SystemCall.environment("DBUS_SYSTEM_BUS_ADDRESS") { return address }
        let path = "/run/dbus/system_bus_socket"
        return SystemCall.exists(path) ? "unix:path=\(path)" : nil
    }

    /// Whether a path needs no escaping in an address.
    private static func isPlain(_ path: String) -> Bool {
        path.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "/"),
                UInt8(ascii: "."):
                true
            default: false
            }
        }
    }
}
