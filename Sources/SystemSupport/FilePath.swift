// Part of swift-identity-client · SPDX-License-Identifier: Apache-2.0

/// Paths as text.
package enum FilePath {
    /// The path without empty parts and `.`, which could hide a link at its end. `..` stays, for the system.
    package static func normalized(_ path: String) -> String {
        "/" + parts(of: path).filter { $0 != "." }.joined(separator: "/")
    }

    /// The names in a path. As for the system, a slash ends a name also before a combining character.
    package static func parts(of path: String) -> [String] {
        path.utf8.split(separator: UInt8(ascii: "/")).compactMap { String($0) }
    }

    /// The directory and the last name of an absolute path.
    package static func split(_ path: String) -> (directory: String, name: String) {
        let parts = parts(of: path)
        return ("/" + parts.dropLast().joined(separator: "/"), parts.last ?? "")
    }

    /// Whether a path begins with `~`, which only a shell replaces: for the system it is the name of a folder.
    package static func isForShell(_ path: String) -> Bool { path.utf8.first == UInt8(ascii: "~") }

    /// The absolute path of a path that may begin at `directory`.
    package static func absolute(_ path: String, in directory: String) -> String {
        normalized(path.hasPrefix("/") ? path : "\(directory)/\(path)")
    }
}
