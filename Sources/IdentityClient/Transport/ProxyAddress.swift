// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// A proxy's address from a program. Its descriptions are empty, because it may contain a password.
struct ProxyAddress: Sendable, CustomStringConvertible, CustomReflectable {
    let text: String

    /// Whether the address can be passed to libcurl, which checks the rest.
    var isPlain: Bool { text.utf8.allSatisfy { (0x21...0x7E).contains($0) } }

    var description: String { "ProxyAddress(redacted)" }

    var customMirror: Mirror { Mirror(self, children: []) }
}
