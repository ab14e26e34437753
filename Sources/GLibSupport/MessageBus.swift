// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import SystemSupport

/// The addresses of the buses, in D-Bus syntax.
package enum MessageBus {
    /// The name of GIO's library, over which the buses are reached.
    package static let library = "libgio-2.0.so.0"

    /// Returns the address of the desktop's session bus, or `nil` if there is none. Starts no bus.
    package static func session() -> String? { session { SystemCall.environment($0) } }

    /// - Parameter variable: Returns a variable of the environment.
    package static func session(_ variable: (String) -> String?) -> String? {
        guard let address = variable("DBUS_SESSION_BUS_ADDRESS") else {
            return pathInRuntimeDirectory(variable).map { "unix:path=\($0)" }
        }
        return address.hasPrefix("disabled:") || address.hasPrefix("autolaunch:") ? nil : address
    }

    /// Whether the environment names the session bus.
    package static func isNamed(_ variable: (String) -> String?) -> Bool {
        variable("DBUS_SESSION_BUS_ADDRESS") != nil
    }

    /// Returns the path of the session bus that is used if the environment names none.
    package static func pathInRuntimeDirectory(_ variable: (String) -> String?) -> String? {
        let directories = [variable("XDG_RUNTIME_DIR"), "/run/user/\(SystemCall.effectiveUser)"]
        for case let directory? in directories where directory.hasPrefix("/") && isPlain(directory) {
            if SystemCall.exists("\(directory)/bus") { return "\(directory)/bus" }
        }
        return nil
    }

    /// Returns the user to whom the socket of an address belongs, or `nil` if that is not known.
    package static func owner(of address: String) -> UInt32? {
        let prefix = "unix:path="
        guard address.hasPrefix(prefix), let path = address.dropFirst(prefix.count).split(separator: ",").first,
            isPlain(String(path))
        else { return nil }
        var status = stat()
        return unsafe stat(String(path), &status) == 0 ? status.st_uid : nil
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
