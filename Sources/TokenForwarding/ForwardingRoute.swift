// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Where requests go, and which of them. A route's upstream is one origin; nothing in a request changes it.
package struct ForwardingRoute: Sendable {
    /// The proof that a client must give: the phantom, that its program is of this user, or both.
    package enum Access: Sendable { case phantom, user, both }

    /// Where clients connect.
    package enum Place: Hashable, Sendable {
        /// A port of the loopback addresses.
        case port(UInt16)
        /// A socket in the file system.
        case socket
    }

    /// Requests that are allowed.
    package struct Permission: Sendable {
        package let methods: Set<String>
        /// A path whose whole segments begin the request's path.
        package let path: String

        package init(methods: Set<String>, path: String) {
            self.methods = methods
            self.path = path
        }
    }

    /// The field that takes the token.
    package struct TokenField: Sendable {
        package let name: String
        package let before: String
        package let after: String

        package init(name: String = "Authorization", before: String = "Bearer ", after: String = "") {
            self.name = name
            self.before = before
            self.after = after
        }
    }

    /// The name in errors and in the log.
    package let name: String
    /// `https`, or `http` for a server on this computer.
    package let scheme: String
    /// The server's host, and its port if it is not the scheme's, in lower case.
    package let authority: String
    /// The path below which all requests are; empty for all paths.
    package let path: String
    /// The word that clients show in place of the token.
    package let phantom: String
    package var access: Access
    /// All requests below ``path`` if empty.
    package var allowed: [Permission] = []
    package var tokenField = TokenField()
    /// Whether cookies pass.
    package var passesCookies = false
    /// The statuses that mean that the token was taken back.
    package var renewsOn: Set<Int> = [401]
    /// The proxy instead of the environment's; empty for none.
    package var proxy: String?
    /// A file of trusted certificates instead of the system's.
    package var certificateAuthorities: String?

    package init(
        name: String,
        scheme: String = "https",
        authority: String,
        path: String = "",
        phantom: String,
        access: Access
    ) {
        self.name = name
        self.scheme = scheme
        self.authority = authority
        self.path = path.hasSuffix("/") ? String(path.dropLast()) : path
        self.phantom = phantom
        self.access = access
    }

    var origin: String { "\(scheme)://\(authority)" }
}
