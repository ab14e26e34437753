// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Paths as text.
enum FilePath {
    /// The path without empty parts and `.`, which would let a link at its end go unseen. `..` stays, for the system.
    static func normalized(_ path: String) -> String {
        "/" + path.split(separator: "/").filter { $0 != "." }.joined(separator: "/")
    }
}
