// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import IdentityClient

/// The address of the desktop's session bus.
enum SessionBus {
    /// Returns the address in D-Bus syntax, or `nil` if there is no bus. Starts no bus.
    static func address() -> String? {
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
