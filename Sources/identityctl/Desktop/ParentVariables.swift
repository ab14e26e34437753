// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

import Glibc
import SystemSupport

/// The variables about the person's desktop, as the program has them that started this one.
///
/// Codex, and programs on the SDKs of MCP, start a server with a handful of variables, by which it finds neither a screen nor a bus.
/// A proxy, a certificate authority or a cache, which lead tokens elsewhere, is never taken from there.
enum ParentVariables {
    static let names = [
        "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS", "SSH_CONNECTION",
    ]

    /// Takes over those that are not set here. To be called before other threads begin.
    static func adopt() {
        let missing = names.filter { unsafe getenv($0) == nil }
        guard !missing.isEmpty, !SystemCall.hasRaisedRights else { return }
        for (name, value) in of(process: getppid()) where missing.contains(name) { unsafe setenv(name, value, 0) }
    }

    /// - Returns: Nothing of a process that is not the user's.
    static func of(process: pid_t, user: uid_t = geteuid()) -> [(name: String, value: String)] {
        struct Foreign: Error {}
        let read = try? PlainFile.read("/proc/\(process)/environ", atMost: 1 << 20) { status in
            guard status.st_uid == user else { throw Foreign() }
        }
        guard let bytes = read?.bytes else { return [] }  // the variables stay unset
        return bytes.split(separator: 0).compactMap { item in
            let parts = item.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let name = names.first(where: { $0.utf8.elementsEqual(parts[0]) }),
                let value = String(validating: parts[1], as: UTF8.self), !value.isEmpty
            else { return nil }
            return (name, value)
        }
    }
}
