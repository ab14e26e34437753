// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Paths as text.
enum FilePath {
    /// The path without empty parts and `.`, which could hide a link at its end. `..` stays, for the system.
    static func normalized(_ path: String) -> String {
        "/" + path.split(separator: "/").filter { $0 != "." }.joined(separator: "/")
    }

    /// The absolute path of a path that may begin at `directory`.
    static func absolute(_ path: String, in directory: String) -> String {
        normalized(path.hasPrefix("/") ? path : "\(directory)/\(path)")
    }
}
