// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// A proxy as a program names it. There may be a password in it, so that its descriptions show nothing.
struct ProxyAddress: Sendable, CustomStringConvertible, CustomReflectable {
    let text: String

    /// Whether it can be handed to libcurl, which decides about the rest.
    var isPlain: Bool { text.utf8.allSatisfy { (0x21...0x7E).contains($0) } }

    var description: String { "ProxyAddress(redacted)" }

    var customMirror: Mirror { Mirror(self, children: []) }
}
